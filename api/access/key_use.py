"""When each key was last used: noted in memory, written once a minute for all."""

from __future__ import annotations

import asyncio

from api.server.background_task import BackgroundTask
from shared.access import keys
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection

log = get_logger()

WRITE_SECONDS = 60.0


class KeyUse(BackgroundTask):
    """Collects which keys were used, and stores that later, outside of requests."""

    name = "key use"

    def __init__(self, pool: Pool, *, every_seconds: float = WRITE_SECONDS) -> None:
        self._pool = pool
        self._every = every_seconds
        self._used: set[str] = set()

    def note(self, key_id: str) -> None:
        """Remember that a key was used."""
        self._used.add(key_id)

    async def stop(self) -> None:
        """Store the last uses, and end."""
        await super().stop()
        await self._write()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self._write()

    async def _write(self) -> None:
        used, self._used = self._used, set()
        if not used:
            return
        try:
            await asyncio.to_thread(self._store, used)
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            # The next use notes them again; nothing depends on it.
            log.info("key_use_not_written", code=exc.error_code)

    def _store(self, used: set[str]) -> None:
        with connection(self._pool) as conn:
            keys.note_use(conn, used)
