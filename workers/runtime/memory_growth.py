"""A worker of threads that has grown too large ends after what it has in hand.

A child of a prefork pool is replaced alone. Threads share one memory, and only a new
process gives it back: whoever supervises this one starts the next.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from shared.log import get_logger

log = get_logger()

_MEGABYTE = 1024 * 1024
_LOOK_SECONDS = 5.0


class Growth:
    """Watches over what a process has taken since it was ready, models not counted.

    Else one that loads a large model late would end, and the next one, too.
    """

    def __init__(self, most_megabytes: int) -> None:
        self._most = most_megabytes * _MEGABYTE
        self._process = psutil.Process()
        self._before = 0
        # Held while a model is loaded: half of one is no growth either.
        self._lock = threading.Lock()

    def start(self) -> None:
        """Count from now on: what this process needs to do anything is there."""
        self._before = self._held()

    def watch(self) -> None:
        """Start a thread that watches the process's memory."""
        self.start()
        threading.Thread(target=self._watch, name="growth", daemon=True).start()

    @contextmanager
    def allow(self) -> Iterator[None]:
        """Exclude memory that is taken within this block from the growth."""
        with self._lock:
            before = self._held()
            try:
                yield
            finally:
                self._before += max(0, self._held() - before)

    def is_too_large(self) -> bool:
        """Tell whether the process has grown by more than it may."""
        with self._lock:
            return self._held() - self._before > self._most

    def _watch(self) -> None:
        pause = threading.Event()
        while not self.is_too_large():
            pause.wait(_LOOK_SECONDS)
        log.warning(
            "worker_grown",
            megabytes=self._held() // _MEGABYTE,
            allowed=(self._before + self._most) // _MEGABYTE,
        )
        # As its supervisor would: what is in hand is ended, nothing more is begun.
        os.kill(os.getpid(), signal.SIGTERM)

    def _held(self) -> int:
        return int(self._process.memory_info().rss)
