"""An encoder without a model, for tests."""

import hashlib
import re
from collections.abc import Sequence
from typing import Self

import numpy as np

from shared.embedding.models.encoder_contract import Vectors, Word, check_vectors


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
