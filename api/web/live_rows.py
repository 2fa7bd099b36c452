"""The newest entries as a stream: read once a moment for all who look with one key."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from fastapi.sse import format_sse_event

from shared.errors import LogchordError
from shared.log import get_logger

log = get_logger()

# A stream ends by itself: the browser comes again, and a server that stops can stop.
STREAM_SECONDS = 60.0
BEAT_SECONDS = 10.0
LOOK_SECONDS = 2.0
_MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest entries as HTML, and what changes with them."""

    html: str
    digest: str


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    at: float = -LOOK_SECONDS
    rows: Rows | None = None


class LiveRows:
    """Caches the rows of a page for a moment, for each group of readers."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    async def read(self, who: str, load: Callable[[], str]) -> Rows:
        """Return the rows of a moment ago, or read them for all who wait."""
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
        kept = self._kept.setdefault(who, _Kept())
        async with kept.lock:
            if kept.rows is None or time.monotonic() - kept.at >= LOOK_SECONDS:
                html = await asyncio.to_thread(load)
                digest = hashlib.sha256(html.encode()).hexdigest()[:16]
                kept.rows, kept.at = Rows(html, digest), time.monotonic()
        return kept.rows


async def follow(
    look: Callable[[], Awaitable[Rows]], last: str, clock: Callable[[], str]
) -> AsyncIterator[bytes]:
    """Yield the rows whenever they are others than the last, and a beat between."""
    began = spoke = time.monotonic()
    yield format_sse_event(retry=2000)
    while time.monotonic() - began < STREAM_SECONDS:
        try:
            rows = await look()
        except LogchordError as exc:
            # The browser says that the connection is dead, and comes again.
            log.warning("live_cut", code=exc.error_code)
            return
        is_due = time.monotonic() - spoke >= BEAT_SECONDS
        if rows.digest != last:
            yield _event("rows", rows.digest, {"html": rows.html, "at": clock()})
        elif is_due:
            yield _event("beat", rows.digest, {"at": clock()})
        if rows.digest != last or is_due:
            last, spoke = rows.digest, time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)


def _event(name: str, number: str, data: dict[str, str]) -> bytes:
    return format_sse_event(data_str=json.dumps(data), event=name, id=number)
