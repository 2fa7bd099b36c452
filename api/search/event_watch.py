"""Watched jobs: one blocking read of an API process for all of their streams.

Nobody polls, and no stream is read from its start.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import redis.asyncio
from redis.exceptions import RedisError

from api.server.background_task import BackgroundTask
from shared.log import get_logger
from shared.messaging.redis_link import RedisLink
from shared.search.jobs import progress, redis_keys
from shared.search.jobs.progress import ProgressEvent

log = get_logger()

T = TypeVar("T")

# Who begins to watch waits so long for the read that goes on without them.
BLOCK_MS = 100
AT_ONCE = 100
_HEARD_WITHIN_SECONDS = 5.0
_PAUSE_SECONDS = 0.5


async def next_of(queue: asyncio.Queue[T], seconds: float) -> T | None:
    """Return the next item of a queue; None if none comes in time."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await queue.get()
    except TimeoutError:
        return None


@dataclass(eq=False, slots=True)
class JobWatch:
    """The events of one job from now on, in order."""

    job_id: UUID
    # The number of the last event that was taken from the stream.
    last: int
    told: asyncio.Queue[ProgressEvent] = field(default_factory=asyncio.Queue)

    async def next(self, seconds: float) -> ProgressEvent | None:
        """Return the next event; None if there is none in time."""
        return await next_of(self.told, seconds)


class EventWatch(BackgroundTask):
    """The streams that are watched in this process, and the loop that reads them."""

    name = "event watch"

    def __init__(self, connect: Callable[[], redis.asyncio.Redis]) -> None:
        self._connect = connect
        self._watched: set[JobWatch] = set()
        self._is_watched = asyncio.Event()

    @contextlib.contextmanager
    def watch(self, job_id: UUID, after: int = 0) -> Iterator[JobWatch]:
        """Hear of a job what comes behind an event, until the block ends."""
        watch = JobWatch(job_id, after)
        self._watched.add(watch)
        self._is_watched.set()
        try:
            yield watch
        finally:
            self._watched.discard(watch)
            if not self._watched:
                self._is_watched.clear()

    async def _run(self) -> None:
        while True:
            await self._is_watched.wait()
            client = self._connect()
            try:
                async with asyncio.timeout(_HEARD_WITHIN_SECONDS):
                    link = await RedisLink.open(client)
                try:
                    while self._watched:
                        await self._read(link)
                finally:
                    link.close()
            except (RedisError, OSError) as exc:
                log.warning("event_watch_reconnects", error=type(exc).__name__)
                await asyncio.sleep(_PAUSE_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await client.aclose()

    async def _read(self, link: RedisLink) -> None:
        """Wait for what comes next in any stream, and hand it to who watches that."""
        lasts: dict[str, int] = {}
        for watch in self._watched:
            name = redis_keys.events(watch.job_id)
            lasts[name] = min(watch.last, lasts.get(name, watch.last))
        ids = [f"{last}-0" for last in lasts.values()]
        how: tuple[str | int, ...] = ("BLOCK", BLOCK_MS, "COUNT", AT_ONCE, "STREAMS")
        async with asyncio.timeout(_HEARD_WITHIN_SECONDS):
            found = await link.answer("XREAD", *how, *lasts, *ids)
        for name, entries in _streams(found):
            events = list(progress.read_events(entries))
            for watch in self._watched:
                if redis_keys.events(watch.job_id) == name:
                    _hand(watch, events)


def _hand(watch: JobWatch, events: list[ProgressEvent]) -> None:
    for event in events:
        if event.number > watch.last:
            watch.last = event.number
            watch.told.put_nowait(event)


def _streams(found: Any) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Yield stream by stream; the wire has pairs, or a map in its third version."""
    pairs = found.items() if isinstance(found, dict) else found or ()
    for name, entries in pairs:
        read = ((one, zip(of[::2], of[1::2], strict=True)) for one, of in entries)
        yield name, [(entry_id, dict(fields)) for entry_id, fields in read]
