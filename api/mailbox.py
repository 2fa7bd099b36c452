"""Waiting for answers: one Redis list and one loop for each API process.

Nobody sits in a blocking call of their own, and nothing is polled.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, cast
from uuid import UUID

import redis.asyncio
from redis.exceptions import RedisError

from shared.jobs import keys
from shared.log import get_logger

log = get_logger()

BLOCK_SECONDS = 2
# Under load many words lie there at each turn, and a turn costs as much as a word.
AT_ONCE = 100
# A link whose other half is gone says nothing for hours: nobody would be told any more.
_SILENT_SECONDS = 3.0
_BACKOFF_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)

Kind = Literal["answer", "failed"]


@dataclass(slots=True)
class Waiter:
    """What has been heard of one job: branches as they came, then the answer."""

    # By branch number, unread: only the late path reads them.
    outcomes: dict[int, str] = field(default_factory=dict)
    _answer: asyncio.Queue[tuple[Kind, str]] = field(
        default_factory=lambda: asyncio.Queue(1)
    )

    def hear(self, kind: str, rest: str) -> None:
        """Take in one message; a repeated one changes nothing."""
        if kind == "outcome":
            number, _, text = rest.partition(" ")
            self.outcomes.setdefault(int(number), text)
        elif self._answer.empty():
            self._answer.put_nowait((cast("Kind", kind), rest))

    async def answer(self, seconds: float) -> tuple[Kind, str] | None:
        """Return the answer, or None when it has not come in time."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                return await self._answer.get()
        except TimeoutError:
            return None


class Mailbox:
    """The list on which workers tell this process about its jobs."""

    def __init__(self, connect: Callable[[], redis.asyncio.Redis]) -> None:
        self.name = keys.new_mailbox()
        self._connect = connect
        self._waiting: dict[UUID, Waiter] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to listen; messages sent earlier are not lost, the list keeps them."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="mailbox")

    async def stop(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @contextlib.contextmanager
    def wait_for(self, job_id: UUID) -> Iterator[Waiter]:
        """Register a job before it is dispatched, and forget it afterwards."""
        waiter = self._waiting[job_id] = Waiter()
        try:
            yield waiter
        finally:
            del self._waiting[job_id]

    async def _run(self) -> None:
        failures = 0
        while True:
            client = self._connect()
            try:
                while True:
                    # A client of its own, which never retries: a pop that was cut
                    # may have taken its message, and the job's hash has it all.
                    async with asyncio.timeout(BLOCK_SECONDS + _SILENT_SECONDS):
                        found = await client.blmpop(
                            BLOCK_SECONDS, 1, self.name, direction="LEFT", count=AT_ONCE
                        )
                    failures = 0
                    for message in found[1] if found else ():
                        self._deliver(str(message))
            except (RedisError, OSError) as exc:
                log.warning("mailbox_reconnects", error=type(exc).__name__)
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await client.aclose()
            ceiling = _BACKOFF_SECONDS[min(failures, len(_BACKOFF_SECONDS) - 1)]
            failures += 1
            await asyncio.sleep(ceiling * random.uniform(0.5, 1.0))  # noqa: S311 - jitter

    def _deliver(self, message: str) -> None:
        job_id, _, rest = message.partition(" ")
        waiter = self._waiting.get(UUID(job_id))
        # Late words about a job that nobody waits for any more.
        if waiter is not None:
            kind, _, text = rest.partition(" ")
            waiter.hear(kind, text)
