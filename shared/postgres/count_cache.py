"""Counts of many rows are given again for a while; those of few never are."""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

# Up to so many rows an answer is always found anew: what takes long then is no count
# but a machine that has other things to do. Counting 10,000 entries takes 7 ms, more
# than all else that Postgres does for a search that finds nothing.
MANY_ROWS = 5_000
# Beyond it one that took a second is given for twenty: five per cent of the time, at
# most, goes into finding it, however often somebody asks.
FACTOR = 20.0
_MOST_KEPT = 1000


class Sparing(Generic[T]):
    """Keeps each answer for as long as its price allows."""

    def __init__(
        self, weigh: Callable[[T], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        # How many rows an answer has counted.
        self._weigh = weigh
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
        if self._weigh(found) > MANY_ROWS:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (ended + (ended - began) * FACTOR, found)
        return found
