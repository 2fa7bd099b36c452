"""How every source stands, from Postgres alone: one answer for every surface."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.count_cache import Sparing
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.settings.source_sections import SourceSettings
from shared.sources import newest_entry, run_records, source_state
from shared.sources.admin import shortfalls
from shared.sources.admin.shortfalls import Shortfall
from shared.sources.run_records import IngestionRun
from shared.sources.source_state import SourceState
from shared.work import chore_records, schedule
from shared.work.schedule import ScheduleStatus

# Looked at among the newest alone: a logbook of twenty years would be read whole each
# time that somebody looks, and by whoever may see none of it each time for nothing.
MOST_COUNTED = 50_000

_NEWEST: LiteralString = newest_entry.newest_entry_sql("%(source)s")
_STOCK: LiteralString = (
    """
    WITH n AS MATERIALIZED (
        SELECT e.entry_time, e.logbooks,
               e.deleted_at IS NULL"""
    + rights.SEEN
    + """ AS is_seen
          FROM entry e
         WHERE e.tenant = %(tenant)s AND e.source = %(source)s
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(looked_through)s)
    SELECT count(*) FILTER (WHERE n.is_seen) AS entries,
           count(*) = %(looked_through)s AS has_more,
           (SELECT coalesce(array_agg(DISTINCT book), '{}') FROM (
                SELECT unnest(m.logbooks) AS book FROM n AS m
                 WHERE m.is_seen
                 ORDER BY m.entry_time DESC LIMIT 1000) AS recent) AS logbooks
      FROM n"""
)
_BEHIND: LiteralString = """
    SELECT s.source, s.failures, s.paused IS NOT NULL,
           extract(epoch FROM statement_timestamp() - (
               SELECT n.entry_time
                 FROM (SELECT e.id, e.entry_time, e.deleted_at
                         FROM entry e
                        WHERE e.tenant = s.tenant AND e.source = s.source
                          AND e.entry_time <= statement_timestamp()
                        ORDER BY e.entry_time DESC, e.id DESC
                        LIMIT %(most)s) AS n
                WHERE n.deleted_at IS NULL
                ORDER BY n.entry_time DESC, n.id DESC LIMIT 1))::float8
      FROM source_state s
     WHERE s.tenant = %(tenant)s OR %(tenant)s = '*'
     ORDER BY s.source
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Stock:
    """The stored entries and logbooks of a source that the caller may see."""

    entries: int
    # Only so many were looked at, and there may be more behind them.
    has_more: bool
    logbooks: list[str]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source: its configuration, its state, and how much of it is stored."""

    name: str
    settings: SourceSettings
    # None: it is pushed to.
    state: SourceState | None
    standings: Mapping[str, ScheduleStatus]
    last_run: IngestionRun | None
    # None: nobody has asked for it to be counted.
    stock: Stock | None
    # Empty, too, where nobody has asked for it to be counted.
    shortfall: Shortfall
    # None: among the newest of all there is none that the caller may see.
    newest: datetime | None
    now: datetime

    @property
    def lag_seconds(self) -> float | None:
        """Return the age of the newest entry in seconds."""
        newest = self.newest
        return max(0.0, (self.now - newest).total_seconds()) if newest else None

    @property
    def since_success_seconds(self) -> float | None:
        """Return the seconds since the source last answered."""
        last = self.state.last_success_at if self.state else None
        return max(0.0, (self.now - last).total_seconds()) if last else None

    @property
    def next_run_at(self) -> datetime | None:
        """Return when the source is polled next."""
        times = [one.next_run_at for one in self.standings.values() if one.next_run_at]
        return min(times, default=None)

    @property
    def problem(self) -> str | None:
        """Return the problem and its remedy in one sentence; None if all is well."""
        return _problem(self)

    @property
    def gaps(self) -> list[dict[str, Any]]:
        """Return the time ranges that could not be read."""
        return self.state.gaps if self.state else []


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a source is behind, in numbers alone."""

    source: str
    failures: int
    is_paused: bool
    # None: it has brought nothing yet.
    lag_seconds: float | None


def behind(conn: Connection, tenant: str) -> list[Behind]:
    """Return how far each source of a tenant is behind; `*` means all tenants."""
    values = {"tenant": tenant, "most": MOST_COUNTED}
    return [Behind(*row) for row in conn.execute(_BEHIND, values)]


def keep_stocks() -> Sparing[Stock]:
    """Make a cache of counts, each kept the longer the more there was to count."""
    return Sparing(lambda one: math.inf if one.has_more else one.entries)


def list_sources(
    conn: Connection,
    scope: Scope,
    configured: Mapping[str, SourceSettings],
    name: str | None = None,
    *,
    stocks: Sparing[Stock] | None = None,
) -> list[SourceView]:
    """Return every source of the caller's tenant, or one, by name.

    `stocks`: the counts of stored entries that are still good; without it none is made.
    """
    states = {one.source: one for one in source_state.listing(conn, scope.tenant)}
    now = chore_records.read_clock(conn)
    found = dict(_pushed(configured, scope.tenant))
    found |= {source: one.settings for source, one in states.items()}
    lacking = {} if stocks is None else shortfalls.load_shortfalls(conn, scope.tenant)
    return [
        _view(
            conn,
            source,
            settings,
            states.get(source),
            {**scope.params, "source": source, "looked_through": MOST_COUNTED},
            lacking=lacking.get(source, Shortfall()),
            stocks=stocks,
            now=now,
        )
        for source, settings in sorted(found.items())
        if name in {None, source}
    ]


def _pushed(
    configured: Mapping[str, SourceSettings], tenant: str
) -> Mapping[str, SourceSettings]:
    # Whoever has a key may push into any of these, whatever the tenant of the key.
    return {
        name: one
        for name, one in configured.items()
        if not one.is_pulled and one.enabled and one.tenant in {tenant, "default"}
    }


def _view(
    conn: Connection,
    name: str,
    settings: SourceSettings,
    standing: SourceState | None,
    values: Mapping[str, Any],
    *,
    lacking: Shortfall,
    stocks: Sparing[Stock] | None,
    now: datetime,
) -> SourceView:
    stock = None
    if stocks is not None:
        whose = json.dumps(values, sort_keys=True)
        stock = stocks.get(whose, lambda: fetch_all(conn, Stock, _STOCK, values)[0])
    latest = run_records.list_runs(conn, str(values["tenant"]), limit=1, source=name)
    return SourceView(
        name,
        settings,
        standing,
        schedule.load_standings(conn, name) if standing else {},
        latest[0] if latest else None,
        stock,
        lacking,
        fetch_value(conn, _NEWEST, values),
        now,
    )


def _problem(view: SourceView) -> str | None:
    standing = view.state
    if standing is None:
        return None
    name = view.name
    if standing.paused:
        return _paused(name, standing)
    if standing.failures:
        error = standing.last_error or {}
        return (
            f"The source {name!r} has failed{_in_a_row(standing.failures)}:"
            f" {error.get('message', 'see the log.')}"
            f" It is asked again{_at(view.next_run_at)}; look with"
            f" `logchord source check {name}`."
        )
    if _is_at_rest(view):
        return (
            f"The source {name!r} is not read: its history was cancelled before it"
            f" was here. `logchord source trigger {name} --kind backfill` begins it"
            " again, and what is new comes after it."
        )
    if standing.degraded:
        return f"The source {name!r}: {standing.degraded.get('message')}"
    quiet = view.since_success_seconds
    longest = 3 * view.settings.poll_interval_seconds + 60
    if view.settings.schedule is None and quiet is not None and quiet > longest:
        return (
            f"The source {name!r} has not been read for {quiet:.0f} s although nothing"
            " failed: see that a worker of the queue `ingest` and `upkeep` run."
        )
    return None


def _is_at_rest(view: SourceView) -> bool:
    """Tell whether neither the tail nor the walk that it waits for is ever due."""
    waited_for = [
        view.standings.get(kind) for kind in (run_records.TAIL, run_records.BACKFILL)
    ]
    return all(
        one is not None and one.next_run_at is None and not one.is_running
        for one in waited_for
    )


def _paused(name: str, standing: SourceState) -> str:
    paused = standing.paused or {}
    if paused.get("reason") == "failures":
        message = (paused.get("error") or {}).get("message", "see the log.")
        return (
            f"The source {name!r} has failed{_in_a_row(standing.failures)} and is"
            f" paused: {message} Mend it, then"
            f" `logchord source resume {name}`."
        )
    return (
        f"The source {name!r} was paused: {paused.get('reason')}. Let it go on with"
        f" `logchord source resume {name}`."
    )


def _in_a_row(count: int) -> str:
    return "" if count == 1 else f" {count} times in a row"


def _at(time: datetime | None) -> str:
    return f" at {time:%H:%M:%S} UTC" if time else " once somebody triggers it"
