"""Health probes: each bounded, all at once, and a hung one never piles up."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from shared.errors import LogchordError
from shared.log import get_logger

log = get_logger()

PROBE_SECONDS = 0.3
State = Literal["ok", "degraded", "down"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found."""

    ok: bool
    technical: str | None = None


class Probe:
    """One question to one backend, asked by at most one thread at a time."""

    def __init__(
        self, name: str, ask: Callable[[], None], seconds: float = PROBE_SECONDS
    ) -> None:
        self.name = name
        self._ask = ask
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: Future[Finding] | None = None
        self._ended_at = 0.0

    async def find(self, kept_seconds: float) -> Finding:
        """Return within the budget, whether or not the backend ever answers.

        What was found that few seconds ago, or fewer, is found again.
        """
        future = self._current(kept_seconds)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            return Finding(ok=False, technical=f"no answer in {self._seconds} s")

    def _current(self, kept_seconds: float) -> Future[Finding]:
        with self._lock:
            if self._running is None or self._is_over(kept_seconds):
                self._running = Future()
                thread = threading.Thread(
                    target=self._run,
                    args=(self._running,),
                    name=f"probe {self.name}",
                    daemon=True,
                )
                thread.start()
            return self._running

    def _is_over(self, kept_seconds: float) -> bool:
        """Tell whether the last probe has ended and its finding has expired."""
        running = self._running
        age = time.monotonic() - self._ended_at
        return running is not None and running.done() and age >= kept_seconds

    def _run(self, future: Future[Finding]) -> None:
        began = time.monotonic()
        # A fault of the question itself: its traceback is in the log.
        found = Finding(ok=False, technical="the probe failed")
        try:
            self._ask()
            found = Finding(ok=True)
        except LogchordError as exc:
            log.warning("probe_failed", probe=self.name, technical=exc.technical)
            found = Finding(ok=False, technical=exc.technical)
        finally:
            self._ended_at = time.monotonic()
            future.set_result(found)
            if self._ended_at - began > self._seconds:
                log.warning("probe_slow", probe=self.name)


class Probes:
    """Every probe of this process."""

    def __init__(
        self, asked: dict[str, Callable[[], None]], seconds: float = PROBE_SECONDS
    ) -> None:
        self._probes = [Probe(name, ask, seconds) for name, ask in asked.items()]

    async def all(self, *, kept_seconds: float = 0.0) -> dict[str, Finding]:
        """Ask all of them at once, but those that were asked so few seconds ago."""
        asked = (probe.find(kept_seconds) for probe in self._probes)
        found = await asyncio.gather(*asked)
        return {probe.name: one for probe, one in zip(self._probes, found, strict=True)}
