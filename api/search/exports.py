"""Exports on their way: so many at once, each on a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from api.search.admission import Admission, Refusal, caller_of
from shared.log import get_logger
from shared.postgres.pool import connect
from shared.search.export.formats import MEDIA_TYPES, Format
from shared.search.export.stream import Export
from shared.search.query.plan import Plan
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.settings.settings import Settings

log = get_logger()

# How long an export may look for what matches; one of which nothing is taken ends.
SCAN_SECONDS, STALLED_SECONDS = 120, 60.0
_REFUSED = Refusal("Too many exports at once; try again when one has ended.", 10)


class Exports:
    """One per API process."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._url = url
        # Who has read a file to its end may ask for the next, and waits for a moment.
        self._admission = Admission(
            settings.search.max_exports,
            settings.search_queue_limit,
            settings.search_queue_wait_ms / 1000,
            settings.search.share_per_key,
            _REFUSED,
        )

    async def begin(self, plan: Plan, form: Format, lexicon: Lexicon) -> ExportResponse:
        """Return a file once all that match are found; 429 when none may begin."""
        place = await self._admission.enter(caller_of(plan.scope))
        with ExitStack() as undo:
            undo.callback(place.give_back)
            export = await asyncio.to_thread(self._found, plan, form, lexicon)
            undo.pop_all()
        loop = asyncio.get_running_loop()

        def release() -> None:
            # By a thread; where the loop has ended nobody waits for a place.
            if not loop.is_closed():
                loop.call_soon_threadsafe(place.give_back)

        return ExportResponse(export, release, form, STALLED_SECONDS)

    def _found(self, plan: Plan, form: Format, lexicon: Lexicon) -> Export:
        # All of it is wanted, not the first rows soon.
        options = (
            f"-c statement_timeout={SCAN_SECONDS * 1000}"
            " -c cursor_tuple_fraction=1.0 -c default_transaction_read_only=on"
        )
        conn = connect(
            self._url, application="export", autocommit=True, options=options
        )
        export = Export(conn, plan, form)
        with ExitStack() as undo:
            undo.callback(export.close)
            export.find(Ask.lasting(plan, SCAN_SECONDS), lexicon)
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
        """Send the export until its end, or until the client takes no more."""

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
