"""Which sources there are by now, and which of them are behind: for every answer."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres import request_deadline, statement_deadline
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings

log = get_logger()

# Searches ask nobody in between: what changes is seen this much later.
KEPT_SECONDS = 2.0
# A search does not wait longer to learn it, and goes on without.
_WAIT_SECONDS = 0.2
_POLL_SECONDS = SourceSettings.model_fields["poll_interval_seconds"].default

Why = Literal["paused", "failing", "degraded", "not_read"]

# The same states, in the same order, as `source_overview` has sentences for.
_STATES: LiteralString = """
    SELECT s.source, s.tenant, s.last_success_at, CASE
           WHEN s.paused IS NOT NULL THEN 'paused'
           WHEN s.failures > 0 THEN 'failing'
           WHEN s.degraded IS NOT NULL THEN 'degraded'
           WHEN s.config ->> 'schedule' IS NULL
                AND s.last_success_at < statement_timestamp() - make_interval(secs =>
                    60 + 3 * coalesce((s.config ->> 'poll_interval_seconds')::float8,
                                      %(poll)s)) THEN 'not_read' END
      FROM source_state s
     ORDER BY s.source
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class SourceBehind:
    """A source of which something new may be missing."""

    source: str
    why: Why
    # None: it has never answered.
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class _States:
    names: frozenset[str]
    behind: dict[str, tuple[SourceBehind, ...]]


class KnownSources:
    """The state of every source, asked for every two seconds at most."""

    def __init__(
        self, pool: Pool, pushed: Collection[str], clock: Callable[[], float]
    ) -> None:
        self._pool = pool
        # They have no state; the configuration of this process names them.
        self._pushed = frozenset(pushed)
        self._clock = clock
        self._lock = threading.Lock()
        self._until = clock()
        self._states: _States | None = None

    def is_removed(self, source: str) -> bool:
        """Tell whether nobody asks a source any more, nor may push to it."""
        if source in self._pushed:
            return False
        states = self._current()
        return states is not None and source not in states.names

    def list_behind(self, tenant: str) -> tuple[SourceBehind, ...]:
        """Return the sources of a tenant that are not up to date, by name."""
        states = self._current()
        return () if states is None else states.behind.get(tenant, ())

    def _current(self) -> _States | None:
        """Return the states; the first caller after two seconds reads them anew."""
        with self._lock:
            now = self._clock()
            if now < self._until:
                return self._states
            self._until = now + KEPT_SECONDS
        try:
            states = self._read()
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            log.warning("source_states_not_read", code=exc.error_code)
            return self._states
        self._states = states
        return states

    def _read(self) -> _States:
        with request_deadline.hurried(_WAIT_SECONDS), connection(self._pool) as conn:
            statement_deadline.limit_time(conn, int(_WAIT_SECONDS * 1000))
            rows = conn.execute(_STATES, {"poll": _POLL_SECONDS}).fetchall()
        behind: dict[str, tuple[SourceBehind, ...]] = {}
        for source, tenant, answered_at, why in rows:
            if why is not None:
                one = SourceBehind(source, why, answered_at)
                behind[tenant] = (*behind.get(tenant, ()), one)
        return _States(frozenset(row[0] for row in rows), behind)


def pushed_names(settings: Settings) -> frozenset[str]:
    """Return the sources that programs push to."""
    return frozenset(
        name
        for name, one in settings.sources.items()
        if one.enabled and not one.is_pulled
    )
