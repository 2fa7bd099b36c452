"""A circuit breaker: a backend that fails is left alone, and asked now and then."""

import threading
import time
from collections.abc import Callable

OPENS_AFTER_FAILURES = 5
PROBE_SECONDS = 1.0


class Circuit:
    """Open after five failures in a row; then one probe a second at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_probe = 0.0

    def allows(self) -> bool:
        """Tell whether the backend may be asked; an open circuit lets a probe by."""
        with self._lock:
            if self._failures < OPENS_AFTER_FAILURES:
                return True
            now = self._clock()
            if now < self._next_probe:
                return False
            self._next_probe = now + PROBE_SECONDS
            return True

    def succeeded(self) -> None:
        """Close the circuit: the backend answered."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """Count a failure; the fifth in a row opens the circuit."""
        with self._lock:
            self._failures += 1
            if self._failures >= OPENS_AFTER_FAILURES:
                self._next_probe = self._clock() + PROBE_SECONDS


class Circuits:
    """Circuits by name, each made when it is first asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[str, Circuit] = {}

    def of(self, name: str) -> Circuit:
        """Return the circuit of a name, the same every time."""
        with self._lock:
            return self._made.setdefault(name, Circuit(self._clock))
