"""How often a source is asked, and by how many at once, whoever asks.

Each request takes a slot and then waits for its time. Those of a tail line up; others
take only a time that nobody waits for, so that a backfill never holds up what is new.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from shared.errors import SourceUnreachableError

LOOK_SECONDS = 0.1
_JITTER = 0.1
_MOST_REST_SECONDS = 3600.0
# Reasons of SourceUnreachableError that are no fault of the source: it was not asked,
# or not to the end, because of us.
OUR_OWN = frozenset({"cancelled", "paced", "out_of_time"})

IsOver = Callable[[], bool]


class Pace(Protocol):
    """The right to send one request."""

    def turn(self, ends: float, is_over: IsOver) -> AbstractContextManager[None]:
        """Wait for it until that time, by the monotonic clock; hold it meanwhile."""

    def rest(self, seconds: float) -> None:
        """Ask nothing for so long: the source has asked for it."""


class LocalPace:
    """The pace of one process alone, for checks from the command line."""

    def __init__(self, rate_per_second: float, concurrency: int) -> None:
        self._interval = 1 / rate_per_second
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._next = time.monotonic()

    @contextmanager
    def turn(self, ends: float, is_over: IsOver) -> Iterator[None]:
        """Wait for a slot, then for the time."""
        while not self._slots.acquire(timeout=LOOK_SECONDS):
            if is_over() or time.monotonic() >= ends:
                raise no_turn(is_over)
        try:
            pause(self.reserve(ends), is_over)
            yield
        finally:
            self._slots.release()

    def rest(self, seconds: float) -> None:
        """Ask nothing for so long."""
        with self._lock:
            until = time.monotonic() + capped_rest(seconds)
            self._next = max(self._next, until)

    def reserve(self, ends: float) -> float:
        """Return the wait until a time that is ours from now on."""
        with self._lock:
            now = time.monotonic()
            mine = max(self._next, now)
            if mine > ends:
                raise no_turn(wait=mine - now)
            self._next = mine + self._interval
            return add_jitter(mine - now, self._interval)


def no_turn(
    is_over: IsOver | None = None, *, wait: float | None = None
) -> SourceUnreachableError:
    """Return why no request is sent now: the run stops, or others are asking."""
    if is_over and is_over():
        return SourceUnreachableError("The run was stopped.", reason="cancelled")
    return SourceUnreachableError(
        "The source is being asked as often as it may be; it is asked again.",
        reason="paced",
        retry_after_seconds=None if wait is None else max(1, round(wait)),
    )


def capped_rest(seconds: float) -> float:
    """Return how long a source may ask us to leave it alone."""
    return min(max(seconds, 0.0), _MOST_REST_SECONDS)


def add_jitter(seconds: float, interval: float, share: float = _JITTER) -> float:
    """Return a wait that is a little longer, so that sources do not march in step."""
    return max(0.0, seconds) + random.uniform(0, share * interval)  # noqa: S311


def pause(seconds: float, is_over: IsOver) -> None:
    """Wait, looking up now and then whether the run is to end."""
    ends = time.monotonic() + seconds
    idle = threading.Event()
    while (left := ends - time.monotonic()) > 0:
        if is_over():
            raise no_turn(is_over)
        idle.wait(min(left, LOOK_SECONDS))
