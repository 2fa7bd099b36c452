"""Keeps vectors of recent queries and passages, so that none is encoded twice."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from shared.embedding.models.encoder_contract import encode_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.embedding.models.encoder_contract import Encoder, Vectors

KEPT = 2000


def packed(vector: Vectors) -> str:
    """Return a vector as text, to travel with the hits that it found."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def unpack_vector(text: str) -> Vectors:
    """Read a vector back from its text."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


class QueryVectors:
    """The last queries of this process and their vectors, safe between threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def of(self, encoder: Encoder, text: str) -> Vectors:
        """Return the vector of a query, encoded outside the lock if need be."""
        key = (encoder.model, text)
        with self._lock:
            vector = self._known.get(key)
            if vector is not None:
                self._known.move_to_end(key)
                return vector
        vector = encode_question(encoder, text)
        with self._lock:
            self._known[key] = vector
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return vector


class PassageVectors:
    """The last passages of this process and their vectors, safe between threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def of(self, encoder: Encoder, texts: Sequence[str]) -> list[Vectors]:
        """Return the vector of each passage; encode all unknown ones together."""
        with self._lock:
            found = {
                text: self._known[key]
                for text in texts
                if (key := (encoder.model, text)) in self._known
            }
        missing = [one for one in dict.fromkeys(texts) if one not in found]
        if missing:
            found |= zip(missing, encoder.encode(missing), strict=True)
        with self._lock:
            for text in texts:
                key = (encoder.model, text)
                self._known[key] = found[text]
                self._known.move_to_end(key)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return [found[text] for text in texts]
