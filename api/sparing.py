"""Answers that are dear to find are given again for a while; cheap ones never are."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

# Below it an answer is always found anew.
CHEAP_SECONDS = 0.2
# Beyond it one that took a second is given for twenty: five per cent of the time, at
# most, goes into finding it, however often somebody asks.
FACTOR = 20.0
_MOST_KEPT = 1000


class Sparing(Generic[T]):
    """Keeps each answer for as long as its price allows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[float, T]] = {}

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return the answer, an older one only if a new one costs too much."""
        kept = self._kept.get(key)
        began = self._clock()
        if kept is not None and kept[0] > began:
            return kept[1]
        found = find()
        ended = self._clock()
        if ended - began > CHEAP_SECONDS:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (ended + (ended - began) * FACTOR, found)
        return found
