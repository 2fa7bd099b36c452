"""Admission: so many searches at once, a short queue, then a clear refusal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from shared.errors import CapacityError

RETRY_AFTER_SECONDS = 1


class Admission:
    """Lets searches in by turns; who waits too long is told to come again."""

    def __init__(self, at_once: int, may_wait: int, wait_seconds: float) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._may_wait = may_wait
        self._wait_seconds = wait_seconds
        self._waiting = 0

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of the places; 429 `too_many_searches` when none gets free."""
        await self._enter()
        try:
            yield
        finally:
            self._places.release()

    async def _enter(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        if self._waiting >= self._may_wait:
            raise _refusal()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._places.acquire()
        except TimeoutError as exc:
            raise _refusal() from exc
        finally:
            self._waiting -= 1


def _refusal() -> CapacityError:
    return CapacityError(
        "Too many searches at once; try again in a second.",
        code="too_many_searches",
        retry_after_seconds=RETRY_AFTER_SECONDS,
    )
