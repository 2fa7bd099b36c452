"""Refuses pushes while too much live work is due, by a counter renewed each second."""

import asyncio
import time
from collections.abc import Collection

from api.server.background_task import BackgroundTask
from shared.errors import CapacityError, DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.work import lag

log = get_logger()

REFRESH_SECONDS = 1.0
# A long count comes less often: it takes five per cent of the time at most.
_SHARE = 20.0
_MOST_SECONDS = 10.0


class Backlog(BackgroundTask):
    """How much live work is due, counted every few moments."""

    name = "backlog"

    def __init__(self, pool: Pool, that_run: Collection[str], most: int) -> None:
        self._pool = pool
        self._that_run = that_run
        self._most = most
        self._due = 0

    def check(self) -> None:
        """Raise 429 `backlog_full` when more is due than the setting allows."""
        if self._due > self._most:
            raise CapacityError(
                "More work is due than can be taken on; try again later.",
                code="backlog_full",
                retry_after_seconds=10,
            )

    async def _run(self) -> None:
        while True:
            took = 0.0
            try:
                self._due, took = await asyncio.to_thread(self._count)
            except (DatabaseConnectionError, DatabaseQueryError) as exc:
                log.warning("backlog_not_counted", code=exc.error_code)
            await asyncio.sleep(pause_seconds(took))

    def _count(self) -> tuple[int, float]:
        with connection(self._pool) as conn:
            # What waits for a connection is no cost of the count.
            began = time.monotonic()
            due = lag.count_live_due(conn, self._that_run, most=self._most)
            return due, time.monotonic() - began


def pause_seconds(took: float) -> float:
    """Return how long to wait after a count that took so long."""
    return min(_MOST_SECONDS, max(REFRESH_SECONDS, took * _SHARE))
