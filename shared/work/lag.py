"""How far each stage is behind, from Postgres and not from queue lengths."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import Connection

from shared.messaging.stage_names import EMBED_PREFIX
from shared.postgres.count_cache import Sparing
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.work import chore_records, quarantine_budget, stage_pauses
from shared.work.due_work import KNOWN_STAGES, PUT_OFF_SECONDS
from shared.work.stage_pauses import Pause

REFRESH_SECONDS = 1.0
# Whose numbers are asked for: everybody's, of an installation's operator.
ANY_TENANT = "*"

# Each row of a backlog of a million is counted once, and by the index alone, which the
# order asked for makes sure of; late is all but what is not yet, and that is little.
_COUNTS_OF_KNOWN: LiteralString = """,
    held AS (
        SELECT stage, count(*) AS leased,
               count(*) FILTER (
                   WHERE due_at <= statement_timestamp() - interval '10 s') AS late
          FROM work
         WHERE claim IS NOT NULL AND leased_until > statement_timestamp()
         GROUP BY stage),
    counted AS MATERIALIZED (
        SELECT known.stage,
               (SELECT count(*) FROM (
                    SELECT FROM work w WHERE w.stage = known.stage AND w.class = 0
                       AND w.due_at < statement_timestamp()
                                      + make_interval(secs => %(put_off)s)
                     ORDER BY w.due_at OFFSET 0) AS live) AS due,
               (SELECT count(*) FROM (
                    SELECT FROM work w WHERE w.stage = known.stage AND w.class = 1
                       AND w.due_at < statement_timestamp()
                                      + make_interval(secs => %(put_off)s)
                     ORDER BY w.due_at OFFSET 0) AS waiting) AS bulk,
               (SELECT count(*) FROM work w
                 WHERE w.stage = known.stage AND w.class = ANY ('{0,1}')
                   AND w.due_at > statement_timestamp() - interval '10 s'
                   AND w.due_at < statement_timestamp()
                                  + make_interval(secs => %(put_off)s)) AS fresh,
               (SELECT min(w.created_at) FROM work w
                 WHERE w.stage = known.stage) AS oldest
          FROM known)
    SELECT counted.stage, counted.due, counted.bulk,
           greatest(0, counted.due + counted.bulk - counted.fresh
                       - coalesce(held.late, 0)) AS overdue,
           coalesce(held.leased, 0) AS leased, counted.oldest
      FROM counted
      LEFT JOIN held ON held.stage = counted.stage
     ORDER BY counted.stage
     LIMIT 1000"""
_OF_ALL: LiteralString = KNOWN_STAGES + _COUNTS_OF_KNOWN
_OF_TENANT: LiteralString = """
    SELECT stage, count(*) FILTER (WHERE class = 0) AS due,
           count(*) FILTER (WHERE class > 0) AS bulk,
           count(*) FILTER (
               WHERE due_at <= statement_timestamp() - interval '10 s'
                 AND (leased_until IS NULL OR leased_until <= statement_timestamp())
           ) AS overdue,
           count(*) FILTER (WHERE leased_until > statement_timestamp()) AS leased,
           min(created_at) AS oldest
      FROM work
     WHERE tenant = %(tenant)s
       AND due_at < statement_timestamp() + make_interval(secs => %(put_off)s)
     GROUP BY stage
     ORDER BY stage
     LIMIT 1000"""
_ASIDE: LiteralString = """
    SELECT stage, count(*) FROM quarantine
     WHERE tenant = %(tenant)s OR %(tenant)s = '*'
     GROUP BY stage
     ORDER BY stage
     LIMIT 1000"""
# The watermark: the older of the oldest unfinished work and the oldest open
# transaction (its rows are not visible yet), less what the index needs to refresh.
_WATERMARKS: LiteralString = """
    SELECT named.stage, least(first.created_at, opened.at, statement_timestamp())
           - make_interval(secs => %(refresh)s)
      FROM unnest(%(stages)s::text[]) AS named (stage)
      LEFT JOIN LATERAL (
           SELECT w.created_at FROM work w WHERE w.stage = named.stage
            ORDER BY w.created_at LIMIT 1) AS first ON true
     CROSS JOIN (
           SELECT min(xact_start) AS at FROM pg_stat_activity
            WHERE xact_start IS NOT NULL AND datname = current_database()) AS opened
     LIMIT 1000"""
# Bounded, and by the index: asked every second beside whatever waits as bulk work. What
# nobody can run is never less by waiting, and is no reason to refuse anything.
_LIVE_OF_KNOWN: LiteralString = """
    SELECT count(*) FROM (
        SELECT FROM known, LATERAL (
               SELECT FROM work w WHERE w.stage = known.stage AND w.class = 0
                LIMIT %(most)s) AS live
         WHERE known.stage = ANY(%(that_run)s) OR starts_with(known.stage, 'embed:')
         LIMIT %(most)s) AS counted"""
_LIVE_DUE: LiteralString = KNOWN_STAGES + _LIVE_OF_KNOWN
# The first and the last by the index: comparisons with a name that the planner is not
# told of until later would be made with every entry there is.
_IS_ALONE: LiteralString = """
    SELECT coalesce(min(tenant) = %(tenant)s AND max(tenant) = %(tenant)s, true)
      FROM entry"""


@dataclass(frozen=True, slots=True)
class _StageCount:
    stage: str
    due: int
    bulk: int
    overdue: int
    leased: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class StageLag:
    """A stage's due work, its pause, and the time up to which all is done."""

    stage: str
    due: int
    bulk: int
    overdue: int
    leased: int
    quarantined: int
    oldest_seconds: float
    per_minute: int
    watermark: datetime
    paused: Pause | None


@dataclass(frozen=True, slots=True)
class Lag:
    """Every stage at one moment, by the database's clock."""

    as_of: datetime
    stages: tuple[StageLag, ...]


def measure_lag(
    conn: Connection, known: Iterable[str], tenant: str = ANY_TENANT
) -> Lag:
    """Return every stage that has rows, and the known ones that have none.

    What is counted is the tenant's own; pause, rate and watermark are of all.
    """
    values = {"tenant": tenant, "put_off": PUT_OFF_SECONDS}
    query = _OF_ALL if tenant == ANY_TENANT else _OF_TENANT
    counted = {row.stage: row for row in fetch_all(conn, _StageCount, query, values)}
    aside: dict[str, int] = dict(conn.execute(_ASIDE, values).fetchall())
    resting = {one.stage: one for one in stage_pauses.list_pauses(conn)}
    rates = quarantine_budget.per_minute(conn)
    named = sorted({*known, *counted, *aside, *resting})
    marks = _watermarks(conn, named)
    as_of = chore_records.read_clock(conn)
    found = []
    for stage in named:
        row = asdict(counted.get(stage) or _StageCount(stage, 0, 0, 0, 0, as_of))
        oldest: datetime = row.pop("oldest")
        lag = StageLag(
            **row,
            quarantined=aside.get(stage, 0),
            oldest_seconds=max(0.0, (as_of - oldest).total_seconds()),
            per_minute=rates.get(stage, 0),
            watermark=marks[stage],
            paused=resting.get(stage),
        )
        found.append(lag)
    return Lag(as_of, tuple(found))


def keep_counts() -> Sparing[Lag]:
    """Make a cache of counts, by whose they are."""
    return Sparing(lambda found: sum(one.due + one.bulk for one in found.stages))


def find_watermark(conn: Connection, of_stages: Sequence[str]) -> datetime:
    """Return the time up to which all written entries have passed these stages."""
    # A stage that nothing waits for still tells of open transactions.
    return min(_watermarks(conn, of_stages or [""]).values())


def is_run(stage: str, that_run: Collection[str]) -> bool:
    """Tell whether work of a stage is done here: vectors are, of whatever model."""
    return stage in that_run or stage.startswith(EMBED_PREFIX)


def count_live_due(conn: Connection, that_run: Collection[str], *, most: int) -> int:
    """Return how much live work of these stages is due, at most one above `most`."""
    values = {"that_run": sorted(that_run), "most": most + 1}
    return int(fetch_value(conn, _LIVE_DUE, values) or 0)


def reach(conn: Connection, tenant: str) -> str:
    """Return whose work a tenant may see: everybody's if it is the only tenant."""
    if tenant == ANY_TENANT:
        return ANY_TENANT
    return ANY_TENANT if fetch_value(conn, _IS_ALONE, {"tenant": tenant}) else tenant


def _watermarks(conn: Connection, of_stages: Sequence[str]) -> dict[str, datetime]:
    values = {"stages": list(of_stages), "refresh": REFRESH_SECONDS}
    return dict(conn.execute(_WATERMARKS, values).fetchall())
