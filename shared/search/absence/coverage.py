"""Measures what was searched: how much, since when, and which times are unknown.

Entries that a source has not brought yet are unknown: that is no proof of absence.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, LiteralString

from psycopg import Cursor
from psycopg.rows import class_row

from shared.access import rights
from shared.entries.reading.filter_sql import NARROWED, narrows
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.postgres import request_deadline, statement_deadline
from shared.postgres.pool import Pool, pipelined_connection
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import pending_entries
from shared.search.absence.background_count import AgedCount, Overtime, not_counted
from shared.search.jobs.outcome import Outcome
from shared.search.query.filters.filters import Filters
from shared.search.query.plan import Plan
from shared.sources import load_adapter, newest_entry
from shared.times.rfc3339 import timestamp

# By source and kind.
Counts = dict[tuple[str, str], int]
_NONE: Mapping[str, int] = MappingProxyType({})
_UNFILTERED = Filters()

MOST_DOMAINS, MOST_SOURCES, MOST_UNKNOWN = 8, 20, 20
# More sources are judged than are shown.
MOST_JUDGED = 1000
# Counting takes longer the more entries there are, and an answer can do without.
COUNT_MS = 150
# Beside hits all of the coverage has so long: the hits are worth more.
BESIDE_HITS_MS, COUNT_BESIDE_HITS_MS = 30, 10
# The newest visible entry is looked for among so many, or a caller who may see none of
# a source's entries would have them all read.
LOOKED_THROUGH = 500

_OF_ALL: LiteralString = f"""
    SELECT e.source, e.kind, count(*) AS entries
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}"""
_BY_SOURCE: LiteralString = """
     GROUP BY e.source, e.kind
     ORDER BY e.source, e.kind
     LIMIT 1000"""
_COUNTS: LiteralString = _OF_ALL + _BY_SOURCE
_COUNTS_NARROWED: LiteralString = _OF_ALL + NARROWED + _BY_SOURCE
# A source that is read by itself says how far it has come; its history is on its way
# as long as that kind of run is due or at work.
_STANDINGS: LiteralString = f"""
    SELECT s.source, s.complete_from, s.complete_to, s.gaps,
           EXISTS (SELECT FROM source_schedule c
                    WHERE c.source = s.source AND c.kind = 'backfill'
                      AND (isfinite(c.next_run_at)
                           OR c.leased_until > statement_timestamp())) AS is_loading,
           CASE WHEN row_number() OVER (ORDER BY s.source) <= %(shown)s THEN (
           {newest_entry.newest_entry_sql("s.source")}) END AS newest,
           statement_timestamp() AS now
      FROM source_state s
     WHERE s.tenant = %(tenant)s
       AND (%(only_sources)s::text[] IS NULL OR s.source = ANY (%(only_sources)s))
     ORDER BY s.source
     LIMIT %(most)s"""


# The last count of a large logbook serves for a moment, for no search waits for it.
_counts: Overtime[Counts] = Overtime(lambda counts: sum(counts.values()))


@dataclass(frozen=True, slots=True)
class SourceCompleteness:
    """How far back and forth a source is complete."""

    source: str
    complete_from: datetime | None
    complete_to: datetime | None
    gaps: list[dict[str, Any]]
    is_loading: bool
    newest: datetime | None
    now: datetime

    @property
    def is_whole(self) -> bool:
        """Tell whether nothing of it is older than what is here."""
        first = self.complete_from
        return first is not None and first <= load_adapter.EARLIEST


@dataclass(frozen=True, slots=True)
class Unknown:
    """An interval in which a source may have more entries; None: it has no such end."""

    source: str
    since: datetime | None
    until: datetime | None
    # The source is behind, its history is on its way, or it could not be read.
    why: Literal["lag", "history", "gap"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a search looked through."""

    # None: they could not be counted in time.
    counted: AgedCount[Counts] | None
    standings: tuple[SourceCompleteness, ...]
    unknown: tuple[Unknown, ...]
    # How many entries that could match wait for a stage; None: not counted in time.
    waiting: int | None = 0
    # Whether the search has filters that the count leaves out, as it does beside hits.
    is_narrowed: bool = False

    @property
    def counts(self) -> Counts | None:
        """How many entries there are that pass the filters, by source and kind."""
        return None if self.counted is None else self.counted.found

    @property
    def entries(self) -> int | None:
        """How many entries there are that pass the filters."""
        if self.counts is None or self.is_narrowed:
            return None
        return sum(self.counts.values())

    def ends_before_any_source(self, until: str | None, sources: Iterable[str]) -> bool:
        """Tell whether a time ends before any source is complete.

        `sources` have entries of that time, as those that were counted; one that is
        pushed to may have them all.
        """
        end = _time(until)
        firsts = {
            one.source: None if one.is_whole else one.complete_from
            for one in self.standings
        }
        return (
            end is not None
            and self.counts is not None
            and bool(firsts)
            and firsts.keys() >= {*sources, *(source for source, _ in self.counts)}
            and all(first is not None and end <= first for first in firsts.values())
        )

    def body(self, candidates: Mapping[str, int] = _NONE) -> dict[str, Any]:
        """Return the coverage as answers show it; `candidates` counts hits by kind."""
        return {
            "domains": self._domains(candidates),
            "sources": self._sources(),
            "entries_in_window": self.entries,
            "counted_seconds_ago": self.counted and round(self.counted.age, 1),
            "waiting": self.waiting,
            "unknown": [
                {
                    "from": timestamp(one.since),
                    "to": timestamp(one.until),
                    "source": one.source,
                    "why": one.why,
                }
                for one in self.unknown[:MOST_UNKNOWN]
            ],
        }

    def _domains(self, candidates: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return the kinds with the most candidates, then those with most entries."""
        kinds: Counter[str] = Counter()
        for (_, kind), entries in (self.counts or {}).items():
            kinds[kind] += entries
        names = sorted(
            {*kinds, *candidates},
            key=lambda kind: (-candidates.get(kind, 0), -kinds[kind], kind),
        )
        return [
            {
                "domain": kind,
                "entries": None if self.counts is None else kinds[kind],
                "candidates": candidates.get(kind, 0),
                "ready": kinds[kind] > 0 or candidates.get(kind, 0) > 0,
            }
            for kind in names[:MOST_DOMAINS]
        ]

    def _sources(self) -> list[dict[str, Any]]:
        known = {one.source: _standing(one) for one in self.standings}
        for source in sorted({source for source, _ in self.counts or {}}):
            # The source is pushed to: only whoever pushes knows what is missing.
            nothing = dict.fromkeys(("complete_from", "complete_to", "lag_seconds"))
            pushed: dict[str, Any] = {"source": source, **nothing, "is_whole": False}
            known.setdefault(source, {**pushed, "gaps": []})
        return [known[name] for name in sorted(known)][:MOST_SOURCES]


def measure_beside_hits(
    pool: Pool, plan: Plan, branches: Sequence[Outcome], timeout_ms: int
) -> Coverage:
    """Measure the coverage of a plan that found hits, in a few milliseconds or not."""
    left = Deadline.after(min(timeout_ms, BESIDE_HITS_MS))
    try:
        return measure_coverage(pool, plan, branches, left, beside_hits=True)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        not_counted(exc)
        return Coverage(None, (), (), None)


def measure_coverage(
    pool: Pool,
    plan: Plan,
    branches: Sequence[Outcome],
    left: Deadline,
    *,
    beside_hits: bool = False,
) -> Coverage:
    """Measure what a plan searches; a number that takes too long to count is None."""
    values = {
        **plan.scope.params,
        **plan.filters.params,
        "most": MOST_JUDGED,
        "shown": MOST_SOURCES,
        "looked_through": LOOKED_THROUGH,
    }
    asked: Cursor[SourceCompleteness] | None = None
    waiting: int | None = None
    try:
        with (
            request_deadline.hurried(left.left_ms / 1000),
            pipelined_connection(pool) as conn,
        ):
            # Half of the time is kept for the parts that follow.
            half = left.left_ms // 2
            left.limit_time(conn, half, one_plan=True)
            asked = conn.cursor(row_factory=class_row(SourceCompleteness))
            asked.execute(_STANDINGS, values, prepare=True)
            # The other half, for the first statement has not run yet.
            left.limit_time(
                conn,
                min(COUNT_MS, left.left_ms - half),
                one_plan=not narrows(values),
            )
            waits = pending_entries.send_pending_count(
                conn, plan, pending_entries.list_awaited_stages(branches)
            )
        waiting = pending_entries.fetch_pending_count(waits)
    except DatabaseQueryError as exc:
        if asked is None or asked.pgresult is None:
            raise
        not_counted(exc)
    standings = asked.fetchall()
    since, until = _time(plan.filters.since), _time(plan.filters.until)
    found = [one for s in standings for one in list_unknown_times(s, since, until)]

    told = tuple(sorted(found, key=_lateness))
    if not beside_hits:
        counted = _count(pool, plan, values, left, COUNT_MS)
        return Coverage(counted, tuple(standings), told, waiting)
    # Each set of filters would be counted anew, so the count goes without filters.
    is_narrowed = narrows(values)
    plain = replace(plan, filters=_UNFILTERED)
    values |= _UNFILTERED.params
    counted = _count(pool, plain, values, left, COUNT_BESIDE_HITS_MS)
    return Coverage(counted, tuple(standings), told, waiting, is_narrowed)


def list_unknown_times(
    standing: SourceCompleteness, since: datetime | None, until: datetime | None
) -> Iterator[Unknown]:
    """Yield the parts of an interval that a source has not brought yet, up to now."""
    name, now = standing.source, standing.now
    end = now if until is None else min(until, now)
    if since is not None and since >= end:
        return
    first, last = standing.complete_from, standing.complete_to
    if last is None:
        yield Unknown(name, since, end, "history" if standing.is_loading else "lag")
        return
    is_asked_before = since is not None and (first is None or since < first)
    may_be_older = is_asked_before or (since is None and standing.is_loading)
    if may_be_older and not standing.is_whole:
        yield Unknown(name, since, end if first is None else min(first, end), "history")
    if last < end:
        yield Unknown(name, last if since is None else max(last, since), end, "lag")
    for gap in standing.gaps:
        start, stop = _time(gap.get("start")), _time(gap.get("end"))
        if _meet(start, stop, since, end):
            yield Unknown(name, start, stop, "gap")


def _lateness(one: Unknown) -> float:
    """Sort longer delays first: any source is always some seconds behind."""
    if one.why != "lag" or one.since is None or one.until is None:
        return -math.inf
    return (one.since - one.until).total_seconds()


def _meet(
    start: datetime | None, stop: datetime | None, since: datetime | None, end: datetime
) -> bool:
    if start is None and stop is None:
        return False
    begins_in_time = start is None or start < end
    return begins_in_time and (stop is None or since is None or stop > since)


def _count(
    pool: Pool, plan: Plan, values: dict[str, Any], left: Deadline, in_time_ms: int
) -> AgedCount[Counts] | None:
    """Return how many entries pass the filters; None: they were not counted in time.

    A large count is kept for a while and serves again.
    """
    # Most of the planning is for filters.
    is_plain = not narrows(values)
    statement = _COUNTS if is_plain else _COUNTS_NARROWED

    def count(seconds: float) -> Counts:
        # All of the answer's time may pass until there is a connection, but the count
        # may take its part alone.
        wait = max(seconds, left.left_ms / 1000)
        with request_deadline.hurried(wait), pipelined_connection(pool) as conn:
            statement_deadline.limit_time(conn, max(1, int(seconds * 1000)))
            rows = conn.execute(statement, values, prepare=is_plain).fetchall()
        return {(source, kind): entries for source, kind, entries in rows}

    scope = plan.scope
    whose = (scope.tenant, scope.subject, scope.groups, scope.logbooks, scope.reads_as)
    key = (*whose, plan.filters)
    try:
        return _counts.get(key, count, in_time_ms / 1000, left.left_ms / 1000)
    except DatabaseConnectionError as exc:
        not_counted(exc)
        return None


def _standing(one: SourceCompleteness) -> dict[str, Any]:
    lag = None if one.newest is None else (one.now - one.newest).total_seconds()
    return {
        "source": one.source,
        "complete_from": timestamp(one.complete_from),
        "complete_to": timestamp(one.complete_to),
        "is_whole": one.is_whole,
        "lag_seconds": None if lag is None else round(max(0.0, lag), 1),
        "gaps": stretches(one.gaps),
    }


def stretches(gaps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the times of gaps without their reasons, which may name hidden things."""
    ends = [{"start": one.get("start"), "end": one.get("end")} for one in gaps]
    return [one for one in ends if one["start"] or one["end"]]


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
