"""Encoders: one unit vector a text, checked before anybody stores or compares it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shared.embedding.models import model_folder
from shared.errors import EmbeddingGenerationError

if TYPE_CHECKING:
    from shared.settings.sections import ProviderSettings

Vectors = NDArray[np.float32]

DEFAULT_MODEL = "all-MiniLM-L6-v2-int8"
ALIASES = {
    "all-MiniLM-L6-v2": DEFAULT_MODEL,
    "sentence-transformers/all-MiniLM-L6-v2": DEFAULT_MODEL,
}
BUILT_IN = (DEFAULT_MODEL, "all-MiniLM-L6-v2-fp32")
# The first of them with a vector for each piece of a text; nothing is stored by it.
TOKENS = f"{DEFAULT_MODEL}-tokens"
# What each was trained for.
LANGUAGES = dict.fromkeys(BUILT_IN, ("en",))
# The cosine below which at most 5 % of what was judged relevant lies.
SIMILARITY_FLOORS = dict.fromkeys(BUILT_IN, 0.20)
NORM_TOLERANCE = 0.01
# A folder with `model.onnx` and `tokenizer.json`.
FOLDER_PREFIX = "onnx:"
HASHING = re.compile(r"hashing-([1-9]\d{0,3})")


class Word(NamedTuple):
    """A word of a text: where it stands, and how many pieces the model makes of it."""

    start: int
    end: int
    tokens: int


class Encoder(Protocol):
    """What turns texts into vectors; safe to share between threads."""

    @property
    def model(self) -> str:
        """The name stored with every vector, precision included."""

    @property
    def dimension(self) -> int:
        """The length of every vector."""

    @property
    def max_tokens(self) -> int:
        """How many pieces of a text one vector can hold; the rest would be cut."""

    def within(self, seconds: float, /) -> Self:
        """Return the same encoder; where it asks a server, it gives up by then."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""

    def count_tokens(self, text: str) -> int:
        """Return how many pieces the whole text has."""

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, with the pieces of each."""


class HashingEncoder:
    """Words hashed to directions: no meaning, no model, equal everywhere; for tests."""

    max_tokens = 254

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension
        self.model = f"hashing-{dimension}"

    def within(self, _: float, /) -> Self:
        """Return this one: it waits for nobody."""
        return self

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""
        rows = [self._encode_one(text) for text in texts]
        return checked(rows, len(texts), self.dimension, self.model)

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
    provider = name.partition(":")[0]
    if provider in providers:
        from shared.embedding.models.endpoint_encoder import EndpointEncoder

        return EndpointEncoder(name, providers[provider])
    # Its runtime costs 27 MB: most processes have no need of a model.
    from shared.embedding.models.onnx_encoder import OnnxEncoder

    if name.startswith((FOLDER_PREFIX, "/", "~", ".")):
        return OnnxEncoder(Path(name.removeprefix(FOLDER_PREFIX)).expanduser())
    return OnnxEncoder(folder_of(cache, name))


def folder_of(cache: Path, model: str) -> Path:
    """Return where a built-in model is, made now if it is not there."""
    folder = model_folder.folder_of(cache, model)
    if model_folder.manifest_of(folder) is None:
        # onnx costs 1.3 s and 60 MB to import, and is needed once in a cache's life.
        from shared.embedding.models import convert_minilm

        folder = convert_minilm.ensure(cache, model)
    return folder


def checked(
    vectors: Sequence[Vectors] | Vectors, count: int, dimension: int, model: str
) -> Vectors:
    """Return the vectors as one array, or refuse what no table should ever hold."""
    flaw = None
    if len(vectors) != count:
        flaw = f"{len(vectors)} vectors for {count} texts"
    elif any(np.shape(vector) != (dimension,) for vector in vectors):
        shapes = sorted({np.shape(vector) for vector in vectors})
        flaw = f"vectors of shape {shapes} where length {dimension} is wanted"
    else:
        array = np.asarray(vectors, dtype=np.float32).reshape(count, dimension)
        norms = np.linalg.norm(array, axis=1)
        if not np.isfinite(array).all():
            flaw = "a vector with NaN or infinity"
        elif (np.abs(norms - 1.0) > NORM_TOLERANCE).any():
            flaw = f"a vector of length {norms[np.abs(norms - 1.0).argmax()]:.3f}"
        else:
            return array
    message = f"The embedding model {model} answered with {flaw}."
    raise EmbeddingGenerationError(message, technical=flaw, model_name=model)
