"""A count that takes too long for one answer goes on beside it, for the next one."""

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from shared.errors import DatabaseQueryError, LogchordError
from shared.log import get_logger
from shared.postgres.count_cache import MANY_ROWS

T = TypeVar("T")

log = get_logger()

# How long a count may take beside the answers; after more it rests for a while.
LONG_SECONDS = 10.0
REST_SECONDS = 60.0
# The last count is shown until it is this old; an older one says too little.
MOST_SECONDS_OLD = 600.0
# One that took a second is shown for a hundred: one per cent of the time, at most, goes
# into counting. With five, 100,000 entries were a fifth of what Postgres did for the
# searches of a busy machine.
FACTOR = 100.0
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class AgedCount(Generic[T]):
    """The result of a count, and how many seconds ago it was made."""

    found: T
    age: float = 0.0


@dataclass(frozen=True, slots=True)
class _LastCount(Generic[T]):
    """The last count of one key; where it was late, no answer waits for it again."""

    is_late: bool
    until: float
    found: T | None = None
    at: float = 0.0

    def told(self, now: float) -> AgedCount[T] | None:
        age = now - self.at
        if self.found is None or age > MOST_SECONDS_OLD:
            return None
        return AgedCount(self.found, age)


def not_counted(error: LogchordError) -> None:
    """Log that an answer goes without a count."""
    log.warning("coverage_not_counted", code=error.error_code)


def _beside(count: Callable[[], None]) -> None:
    threading.Thread(target=count, name="overtime", daemon=True).start()


class Overtime(Generic[T]):
    """Counts within the time of an answer, or beside it, one thing at a time.

    A count of many serves again for as long as its price allows.
    """

    def __init__(
        self,
        weigh: Callable[[T], float],
        clock: Callable[[], float] = time.monotonic,
        beside: Callable[[Callable[[], None]], None] = _beside,
    ) -> None:
        # Returns how many rows a result stands for.
        self._weigh = weigh
        self._clock = clock
        self._beside = beside
        self._known: dict[Hashable, _LastCount[T]] = {}
        self._lock = threading.Lock()
        self._is_busy = False

    def get(
        self,
        key: Hashable,
        count: Callable[[float], T],
        in_time: float,
        left: float = math.inf,
    ) -> AgedCount[T] | None:
        """Return a count made in time, else the last one kept; None: there is neither.

        `count` is given the seconds that it may take, and raises when they are over.
        With less left than `in_time`, running out of time does not mark the key late.
        """
        with self._lock:
            known = self._known.get(key)
        now = self._clock()
        if known is not None and now < known.until:
            return known.told(now)
        if known is None or not known.is_late or self._is_of_few(known):
            try:
                found = self._counted(key, count, min(in_time, left), in_time)
            except DatabaseQueryError as exc:
                not_counted(exc)
                if left >= in_time:
                    self._call_late(key, now)
            else:
                return AgedCount(found)
        self._go_on(key, count, in_time)
        return known.told(now) if known is not None else None

    def _is_of_few(self, known: _LastCount[T]) -> bool:
        """Tell whether few rows were counted, so that a busy machine made it late."""
        return known.found is not None and self._weigh(known.found) <= MANY_ROWS

    def _counted(
        self, key: Hashable, count: Callable[[float], T], seconds: float, in_time: float
    ) -> T:
        began = self._clock()
        found = count(seconds)
        ended = self._clock()
        took = ended - began
        is_late = took > in_time
        if is_late or self._weigh(found) > MANY_ROWS:
            kept_seconds = min(took * FACTOR, MOST_SECONDS_OLD)
            self._keep(key, _LastCount(is_late, ended + kept_seconds, found, ended))
        else:
            self._forget(key)
        return found

    def _go_on(
        self, key: Hashable, count: Callable[[float], T], in_time: float
    ) -> None:
        with self._lock:
            if self._is_busy:
                return
            self._is_busy = True

        def go_on() -> None:
            try:
                self._counted(key, count, LONG_SECONDS, in_time)
            except LogchordError as exc:
                not_counted(exc)
                self._call_late(key, self._clock() + REST_SECONDS)
            finally:
                self._is_busy = False

        try:
            self._beside(go_on)
        except RuntimeError as exc:
            # No thread can be had: the answer goes without, and the next asks again.
            log.warning("coverage_not_counted", error=str(exc))
            self._is_busy = False

    def _call_late(self, key: Hashable, until: float) -> None:
        with self._lock:
            last = self._known.get(key)
        known = last or _LastCount(is_late=True, until=until)
        self._keep(key, replace(known, is_late=True, until=until))

    def _keep(self, key: Hashable, known: _LastCount[T]) -> None:
        with self._lock:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = known

    def _forget(self, key: Hashable) -> None:
        with self._lock:
            self._known.pop(key, None)
