"""Decides whether a failed branch is tried once more, in the time that it has."""

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from statistics import median

from shared.errors import DatabaseQueryError, LogchordError

# A second attempt needs so many times the seconds that the module usually takes: a late
# one would use up the fallback's time and find nothing.
TIMES_USUAL = 1.5
# Long enough for a server to come back that is only started anew, or for a link to be
# replaced, and too short for a person to notice.
MOST_WAIT_SECONDS = 0.1
# The assumed seconds of a module of which too little is known yet.
UNKNOWN_SECONDS = 0.25
_KEPT, _ENOUGH = 100, 5
_P95 = 0.95


class Paces:
    """How long each module took lately where it answered; shared by threads."""

    def __init__(
        self,
        fresh_seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Older times say nothing any more.
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._seconds: dict[str, deque[tuple[float, float]]] = {}

    def note(self, name: str, seconds: float) -> None:
        """Remember how long a module took to answer."""
        told = (self._clock(), seconds)
        with self._lock:
            self._seconds.setdefault(name, deque(maxlen=_KEPT)).append(told)

    def usual(self, name: str) -> float | None:
        """Return the median seconds of a module; None: it has not answered lately."""
        known = self._known(name)
        return median(known) if known else None

    def p95(self, name: str) -> float:
        """Return the seconds within which a module answers 19 times of 20."""
        known = sorted(self._known(name))
        if len(known) < _ENOUGH:
            return UNKNOWN_SECONDS
        return known[int(_P95 * (len(known) - 1))]

    def _known(self, name: str) -> list[float]:
        since = self._clock() - self._fresh_seconds
        with self._lock:
            told = self._seconds.get(name, ())
            return [seconds for at, seconds in told if at >= since]


def wait_for(error: LogchordError, left: float, usual: float) -> float | None:
    """Return the seconds to wait before a second attempt; None: do not try again.

    The wait has jitter, so that branches that failed together do not return together.
    """
    spare = left - TIMES_USUAL * usual - (error.retry_after_seconds or 0)
    was_late = isinstance(error, DatabaseQueryError) and error.out_of_time
    if not error.retriable or was_late or spare <= 0:
        return None
    most = min(MOST_WAIT_SECONDS, spare)
    jitter = random.uniform(most / 2, most)  # noqa: S311 - not a secret
    return (error.retry_after_seconds or 0) + jitter
