"""A worker of threads that has grown too large ends after what it has in hand.

A child of a prefork pool is replaced alone. Threads share one memory, and only a new
process gives it back: whoever supervises this one starts the next.
"""

from __future__ import annotations

import os
import signal
import threading

import psutil

from shared.log import get_logger

log = get_logger()

_MEGABYTE = 1024 * 1024
_LOOK_SECONDS = 5.0


class Growth:
    """Watches over what a process has taken since it was ready, models not counted."""

    def __init__(self, most_megabytes: int) -> None:
        self._most = most_megabytes * _MEGABYTE
        self._process = psutil.Process()
        self._before = 0

    def begin(self) -> None:
        """Watch from now on: what this process needs to do anything is there."""
        self.allow()
        threading.Thread(target=self._watch, name="growth", daemon=True).start()

    def allow(self) -> None:
        """Take what has been taken so far for what a process of its kind needs.

        Else one that loads a large model late would end, and the next one, too.
        """
        self._before = self._process.memory_info().rss

    def _watch(self) -> None:
        pause = threading.Event()
        while (now := self._process.memory_info().rss) - self._before <= self._most:
            pause.wait(_LOOK_SECONDS)
        log.warning(
            "worker_grown",
            megabytes=now // _MEGABYTE,
            at_start=self._before // _MEGABYTE,
        )
        # As its supervisor would: what is in hand is ended, nothing more is begun.
        os.kill(os.getpid(), signal.SIGTERM)
