"""Waiting for answers: one Redis list and one loop for each API process.

Nobody sits in a blocking call of their own, and nothing is polled.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NoReturn, cast
from uuid import UUID

import redis.asyncio
from redis.exceptions import RedisError, ResponseError

from api.search.event_watch import next_of
from api.server.background_task import BackgroundTask
from shared.log import get_logger
from shared.messaging.redis_link import RedisLink
from shared.search.jobs import redis_keys

log = get_logger()

BLOCK_SECONDS = 2
# Under load many words lie there at each turn, and a turn costs as much as a word.
AT_ONCE = 100
# A link whose other half is gone says nothing for hours: nobody would be told any more.
_SILENT_SECONDS = 3.0
_HEARD_WITHIN_SECONDS = BLOCK_SECONDS + _SILENT_SECONDS
_BACKOFF_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)

Kind = Literal["answer", "failed"]


@dataclass(slots=True)
class Waiter:
    """The messages that have come for one job: branches' outcomes, then the answer."""

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
        return await next_of(self._answer, seconds)


class Mailbox(BackgroundTask):
    """The list on which workers tell this process about its jobs.

    Messages sent before it listens are not lost: the list keeps them.
    """

    def __init__(self, connect: Callable[[], redis.asyncio.Redis]) -> None:
        self.name = redis_keys.new_mailbox()
        self._connect = connect
        self._waiting: dict[UUID, Waiter] = {}
        self._heard_at = 0.0

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
            began = self._heard_at = time.monotonic()
            try:
                # A link of its own, which never retries: a pop that was cut may have
                # taken its message, and the job's hash has it all.
                async with asyncio.timeout(_HEARD_WITHIN_SECONDS):
                    link = await RedisLink.open(client)
                try:
                    self._pop(link)
                    await self._until_lost(link)
                finally:
                    link.close()
            except (RedisError, OSError) as exc:
                log.warning("mailbox_reconnects", error=type(exc).__name__)
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await client.aclose()
            if self._heard_at > began:
                failures = 0
            ceiling = _BACKOFF_SECONDS[min(failures, len(_BACKOFF_SECONDS) - 1)]
            failures += 1
            await asyncio.sleep(ceiling * random.uniform(0.5, 1.0))  # noqa: S311 - jitter

    async def _until_lost(self, link: RedisLink) -> NoReturn:
        # Timed by itself: a time-out of each turn costs more than the turn.
        left = _HEARD_WITHIN_SECONDS
        while left > 0:
            await asyncio.wait([link.lost], timeout=left)
            if link.lost.done():
                raise link.lost.result()
            left = self._heard_at + _HEARD_WITHIN_SECONDS - time.monotonic()
        raise TimeoutError

    def _pop(self, link: RedisLink) -> None:
        command = ("BLMPOP", BLOCK_SECONDS, 1, self.name, "LEFT", "COUNT", AT_ONCE)
        link.ask(command, partial(self._popped, link))

    def _popped(self, link: RedisLink, found: Any) -> None:
        if isinstance(found, Exception):
            if isinstance(found, ResponseError):
                link.close(found)
            return
        self._heard_at = time.monotonic()
        # First of all: what comes meanwhile is on its way already.
        self._pop(link)
        for message in found[1] if found else ():
            self._deliver(message)

    def _deliver(self, message: str) -> None:
        job_id, _, rest = message.partition(" ")
        waiter = self._waiting.get(UUID(job_id))
        # Late words about a job that nobody waits for any more.
        if waiter is not None:
            kind, _, text = rest.partition(" ")
            waiter.hear(kind, text)
