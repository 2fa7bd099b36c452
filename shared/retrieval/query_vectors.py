"""Vectors of recent queries: the same words are not encoded twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.embedding.encoders import Encoder, Vectors

KEPT = 2000


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
        vector = encoder.encode([text]).reshape(-1)
        with self._lock:
            self._known[key] = vector
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return vector
