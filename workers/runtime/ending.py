"""How a worker ends when Celery cannot: its broker hangs, or a thread of its own.

Celery waits for its broker without a limit, also to say good-bye, and has no means
against a thread of a threads pool. What is in hand gets its time; then it ends.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import billiard
from celery.worker import state

from shared.log import get_logger
from shared.work import batches

log = get_logger()

# A batch takes 10 s at most, and a container waits 30 s before it kills.
STOP_SECONDS = 25.0
# A little longer than Celery's own `worker_soft_shutdown_timeout`.
COLD_SECONDS = 7.0
# Nothing is in hand any more: what else there is to say must not take longer.
IDLE_SECONDS = 5.0
HUNG_SECONDS = 10.0
_FAREWELL_SECONDS = 2.0
_POLL_SECONDS = 0.1


class WorkerEnding:
    """Ends this process, at the latest, some seconds after it was told to."""

    def __init__(self, farewell: Callable[[], None]) -> None:
        self._farewell = farewell
        self._hung = 0
        self._lock = threading.Lock()

    def told(self) -> None:
        """Watch over a stop that has begun; Celery's own way out mostly comes first."""
        threading.Thread(target=self._watch, name="ending", daemon=True).start()

    def watch_for_quit(self) -> None:
        """Bound a cold stop as well: Celery waits for the threads of a pool then, too.

        Unfinished work is claimed again when its lease ends. In the main thread only.
        """
        quit_as_celery_does = signal.getsignal(signal.SIGQUIT)

        def end(number: int, frame: FrameType | None) -> None:
            batches.claim_no_more()
            threading.Thread(target=self._watch_cold, name="quit", daemon=True).start()
            if callable(quit_as_celery_does):
                quit_as_celery_does(number, frame)

        signal.signal(signal.SIGQUIT, end)

    def hung(self) -> None:
        """Count a thread that will never come back: only a new process helps."""
        with self._lock:
            self._hung += 1
            first = self._hung == 1
        if not first:
            return
        log.error("worker_hung", in_hand=len(state.active_requests))
        batches.claim_no_more()
        self._wait(HUNG_SECONDS, idle_seconds=0.0)
        self._leave(1)

    def _watch(self) -> None:
        self._wait(STOP_SECONDS, idle_seconds=IDLE_SECONDS)
        log.warning("worker_ended_unfinished", in_hand=len(state.active_requests))
        self._leave(0)

    def _watch_cold(self) -> None:
        self._wait(COLD_SECONDS, idle_seconds=COLD_SECONDS)
        self._leave(1)

    def _wait(self, seconds: float, *, idle_seconds: float) -> None:
        """Return when nothing but what hangs is in hand for a while, or time is up."""
        ends = time.monotonic() + seconds
        idle_since: float | None = None
        pause = threading.Event()
        while (now := time.monotonic()) < ends:
            if len(state.active_requests) > self._hung:
                idle_since = None
            elif idle_since is None:
                idle_since = now
            if idle_since is not None and now - idle_since >= idle_seconds:
                return
            pause.wait(_POLL_SECONDS)

    def _leave(self, status: int) -> None:
        # Its connections may hang as well.
        farewell = threading.Thread(target=self._farewell, daemon=True)
        farewell.start()
        farewell.join(_FAREWELL_SECONDS)
        for child in billiard.active_children():
            child.terminate()
        os._exit(status)
