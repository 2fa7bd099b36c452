"""The watermark that branches report: all that was written before it is searched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from shared.postgres.pool import connection
from shared.work import lag

if TYPE_CHECKING:
    from shared.postgres.pool import Pool

KEPT_SECONDS = 1.0


class Freshness:
    """Watermarks, asked for once a second: an older one is true, only less fresh."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, ...], tuple[float, datetime]] = {}

    def of(self, pool: Pool, *stages: str) -> datetime:
        """Return the time up to which all entries have passed these stages.

        It is read before searching, so that it is never later than the search.
        """
        with self._lock:
            known = self._known.get(stages)
        now = self._clock()
        if known is not None and now - known[0] < KEPT_SECONDS:
            return known[1]
        with connection(pool) as conn:
            found = lag.find_watermark(conn, list(stages))
        with self._lock:
            self._known[stages] = (now, found)
        return found
