"""Encoders: one unit vector a text, checked before anybody stores or compares it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from shared.embedding.models import model_folder
from shared.embedding.models.encoder_contract import (
    Encoder,
    Vectors,
    Word,
    check_vectors,
)
from shared.embedding.models.model_names import (
    ALIASES,
    BGE,
    FOLDER_PREFIX,
    HASHING,
    SECOND,
)

if TYPE_CHECKING:
    from shared.settings.sections import ProviderSettings


class HashingEncoder:
    """Words hashed to directions: no meaning, no model, equal everywhere; for tests."""

    max_tokens = 254

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension
        self.model = f"hashing-{dimension}"

    def within(self, _: float, /) -> Self:
        """Return this encoder: it waits for no server."""
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""
        rows = [self._encode_one(text) for text in texts]
        return check_vectors(rows, len(texts), self.dimension, self.model)

    def count_tokens(self, text: str) -> int:
        """Return how many words the text has."""
        return len(self.words(text))

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, one piece each."""
        return [Word(*match.span(), 1) for match in re.finditer(r"\w+|[^\w\s]", text)]

    def _encode_one(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension)
        for start, end, _ in self.words(text)[: self.max_tokens]:
            word = text[start:end].lower().encode("utf-8", "replace")
            number = int.from_bytes(hashlib.blake2b(word, digest_size=8).digest())
            vector[(number >> 1) % self.dimension] += 1.0 if number & 1 else -1.0
        # Words may cancel out, and a blank text has none: a vector is never zero.
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)


def load_encoder(
    model: str,
    cache: Path,
    providers: Mapping[str, ProviderSettings] = MappingProxyType({}),
) -> Encoder:
    """Return the encoder of a built-in name, a folder's, or a provider's model."""
    name = ALIASES.get(model, model)
    hashing = HASHING.fullmatch(name)
    if hashing:
        return HashingEncoder(int(hashing[1]))
    if name == SECOND:
        # It costs 120 MB, where nobody asks for it.
        from shared.embedding.models.sentence_encoder import SentenceEncoder

        return SentenceEncoder()
    provider = name.partition(":")[0]
    if provider in providers:
        from shared.embedding.models.endpoint_models import EndpointEncoder

        return EndpointEncoder(name, providers[provider])
    # Its runtime costs 27 MB: most processes have no need of a model.
    from shared.embedding.models.onnx_models import OnnxEncoder

    if name.startswith((FOLDER_PREFIX, "/", "~", ".")):
        return OnnxEncoder(Path(name.removeprefix(FOLDER_PREFIX)).expanduser())
    return OnnxEncoder(folder_of(cache, name))


def folder_of(cache: Path, model: str) -> Path:
    """Return where a built-in model is, made now if it is not there."""
    folder = model_folder.folder_of(cache, model)
    if model_folder.manifest_of(folder) is not None:
        return folder
    # What makes a model costs a second and more to import, once in a cache's life.
    if model == BGE:
        from shared.embedding.models import bge_small

        return bge_small.ensure(cache)
    from shared.embedding.models import convert_minilm

    return convert_minilm.ensure(cache, model)
