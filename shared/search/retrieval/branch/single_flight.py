"""Runs equal branches in flight once: whoever comes second waits for the first.

Nothing is kept: whoever comes after the end searches anew.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate

from shared.search.jobs.outcome import Outcome

Outcomes = Sequence[Outcome]


class InFlight:
    """The branches that a process is carrying out, each by the key of its question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Hashable, Future[Outcomes]] = {}

    def once(
        self, key: Hashable, run: Callable[[], Outcomes], seconds: float
    ) -> Outcomes:
        """Return the outcomes of a key's branch, which whoever came first runs.

        A failure of the first is not shared, and the first is not waited for longer
        than `seconds`: it may have had less time.
        """
        ours: Future[Outcomes] = Future()
        with self._lock:
            theirs = self._running.setdefault(key, ours)
        if theirs is not ours:
            return _heard(theirs, seconds) or run()
        outcomes: Outcomes = ()
        try:
            outcomes = run()
        finally:
            with self._lock:
                del self._running[key]
            ours.set_result(outcomes)
        return outcomes


def _heard(theirs: Future[Outcomes], seconds: float) -> Outcomes:
    try:
        outcomes = theirs.result(max(0.0, seconds))
    except TooLate:
        return ()
    return () if any(one.failed for one in outcomes) else outcomes
