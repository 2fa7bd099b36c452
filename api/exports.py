"""Exports on their way: so many at once, each on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from api.admission import caller_of, own_share
from shared.errors import CapacityError
from shared.log import get_logger
from shared.postgres import connect
from shared.results.export import Export
from shared.results.files import MEDIA_TYPES
from shared.retrieval.module import Ask

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from shared.query.plan import Plan
    from shared.results.files import Format
    from shared.retrieval.module import Lexicon
    from shared.settings import Settings

log = get_logger()

RETRY_AFTER_SECONDS = 10


class Exports:
    """One per API process."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._url = url
        self._scan_seconds = settings.search.export_scan_seconds
        self._stalled_seconds = settings.search.export_stalled_seconds
        self._at_once = settings.search.max_exports
        self._own = own_share(self._at_once, settings.search.share_per_key)
        # How many each key has on their way; threads give them back.
        self._held: Counter[str] = Counter()
        self._turn = threading.Lock()
        self._wait_seconds = settings.search_queue_wait_ms / 1000
        self._given_back = asyncio.Event()

    async def begin(self, plan: Plan, form: Format, lexicon: Lexicon) -> ExportResponse:
        """Return a file once all that match are found; 429 when none may begin."""
        who = caller_of(plan.scope)
        if not await self._taken(who):
            raise CapacityError(
                "Too many exports at once; try again when one has ended.",
                code="too_many_searches",
                retry_after_seconds=RETRY_AFTER_SECONDS,
            )
        with ExitStack() as undo:
            undo.callback(self._give_back, who)
            export = await asyncio.to_thread(self._found, plan, form, lexicon)
            undo.pop_all()
        loop = asyncio.get_running_loop()

        def release() -> None:
            self._give_back(who)
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._given_back.set)

        return ExportResponse(export, release, form, self._stalled_seconds)

    async def _taken(self, who: str) -> bool:
        """Wait for a moment: who has read a file to its end may ask for the next."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._wait_seconds):
                while True:
                    self._given_back.clear()
                    if self._take(who):
                        return True
                    await self._given_back.wait()
        return False

    def _take(self, who: str) -> bool:
        with self._turn:
            if self._held.total() >= self._at_once or self._held[who] >= self._own:
                return False
            self._held[who] += 1
        return True

    def _give_back(self, who: str) -> None:
        with self._turn:
            self._held[who] -= 1
            if not self._held[who]:
                del self._held[who]

    def _found(self, plan: Plan, form: Format, lexicon: Lexicon) -> Export:
        # All of it is wanted, not the first rows soon.
        options = (
            f"-c statement_timeout={self._scan_seconds * 1000}"
            " -c cursor_tuple_fraction=1.0 -c default_transaction_read_only=on"
        )
        conn = connect(
            self._url, application="export", autocommit=True, options=options
        )
        export = Export(conn, plan, form)
        with ExitStack() as undo:
            undo.callback(export.close)
            export.find(Ask.lasting(plan, self._scan_seconds), lexicon)
            undo.pop_all()
        return export


class ExportResponse(StreamingResponse):
    """A file as fast as it is taken; however that ends, everything is given back."""

    def __init__(
        self,
        export: Export,
        release: Callable[[], None],
        form: Format,
        stalled_seconds: float,
    ) -> None:
        self._export = export
        self._release = release
        self._stalled_seconds = stalled_seconds
        self._turn = threading.Lock()
        name = f'attachment; filename="entries.{form}"'
        super().__init__(
            self._parts(),
            media_type=MEDIA_TYPES[form],
            headers={"Content-Disposition": name},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, to its end or until nobody takes any more of it."""

        async def taken(message: Message) -> None:
            async with asyncio.timeout(self._stalled_seconds):
                await send(message)

        try:
            await super().__call__(scope, receive, taken)
        except (TimeoutError, ClientDisconnect):
            # Unended, it is closed by the server, and its last record is missing.
            log.warning("export_not_taken")
        finally:
            asyncio.get_running_loop().run_in_executor(None, self._end)

    async def _parts(self) -> AsyncIterator[bytes]:
        parts = self._export.parts()

        def following() -> str | None:
            with self._turn:
                return next(parts, None)

        while (part := await asyncio.to_thread(following)) is not None:
            if part:
                yield part.encode()

    def _end(self) -> None:
        # A thread may still read what nobody waits for any more.
        with self._turn:
            self._export.close()
        self._release()
