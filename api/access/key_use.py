"""When each key was last used, and who came: noted, and written once a minute."""

import asyncio
from collections.abc import Mapping

from api.server.background_task import BackgroundTask
from shared.access import keys
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.watch import saved_searches

log = get_logger()

WRITE_SECONDS = 60.0

Groups = tuple[str, ...]


class KeyUse(BackgroundTask):
    """Collects who came by key or gateway, and stores that later, not in a request."""

    name = "key use"

    def __init__(self, pool: Pool, *, every_seconds: float = WRITE_SECONDS) -> None:
        self._pool = pool
        self._every = every_seconds
        self._used: set[str] = set()
        # By tenant and name, with which groups.
        self._people: dict[tuple[str, str], Groups] = {}

    def note(self, scope: Scope) -> None:
        """Remember who came."""
        if scope.key_id is not None:
            self._used.add(scope.key_id)
        if scope.is_person:
            self._people[scope.tenant, scope.subject] = scope.groups

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
        people, self._people = self._people, {}
        if not used and not people:
            return
        try:
            await asyncio.to_thread(self._store, used, people)
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            # The next use notes them again; nothing depends on it.
            log.info("key_use_not_written", code=exc.error_code)

    def _store(self, used: set[str], people: Mapping[tuple[str, str], Groups]) -> None:
        with connection(self._pool) as conn:
            keys.note_use(conn, used)
            for (tenant, subject), groups in sorted(people.items()):
                saved_searches.note_person(conn, tenant, subject, groups)
