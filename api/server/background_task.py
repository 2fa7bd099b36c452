"""What a process of the API does beside its requests, from its start to its end."""

import asyncio
import contextlib
from abc import ABC, abstractmethod


class BackgroundTask(ABC):
    """A loop on the event loop of the process."""

    name: str
    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, unless it has begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=self.name)

    async def stop(self) -> None:
        """End it, and wait for that."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @abstractmethod
    async def _run(self) -> None:
        """Go on until it is cancelled."""
