"""Values that are asked for once in some seconds, whoever needs them in between."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

_MOST = 1000


class KeptValues(Generic[_Key, _Value]):
    """Values by key, each kept for some seconds; safe between threads.

    Two callers who miss the same value both ask for it: neither waits for the other.
    """

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: dict[_Key, tuple[float, _Value]] = {}

    def get(self, key: _Key, ask: Callable[[], _Value]) -> _Value:
        """Return the value of a key, which is as old as the question for it."""
        now = self._clock()
        with self._lock:
            known = self._known.get(key)
        if known is not None and now - known[0] < self._seconds:
            return known[1]
        found = ask()
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = (now, found)
        return found
