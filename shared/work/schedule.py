"""When each source, and the installation itself, is next due: a lease and a cursor.

Missed runs collapse into one: what runs reads from its cursor, so none is made up for.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.errors import LogchordError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value
from shared.work.leases import LEASE_SECONDS, draw_wait

# The source of what the installation does for itself: its chores.
INSTALLATION = "*"
# The reason of what was taken back before its end.
CANCELLED = "cancelled"
# A failed run comes back sooner than a day, however rarely it is due otherwise.
_BACKOFF_SECONDS = 5.0
_BACKOFF_CAP_SECONDS = 3600.0
_JITTER = 0.1

# A first run waits for its turn, too: what the installation lacks at its start is
# found out by other means. A period that a release makes shorter counts at once.
_ARRANGE: LiteralString = """
    INSERT INTO source_schedule AS s (source, kind, every_seconds, next_run_at)
    VALUES (%(source)s, %(kind)s, %(every)s,
            clock_timestamp() + make_interval(secs => %(wait)s))
        ON CONFLICT (source, kind) DO UPDATE
       SET every_seconds = excluded.every_seconds,
           next_run_at = least(s.next_run_at, excluded.next_run_at)
     WHERE s.every_seconds <> excluded.every_seconds"""
_DUE: LiteralString = """
    SELECT kind FROM source_schedule
     WHERE source = %(source)s AND next_run_at <= clock_timestamp()
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
     ORDER BY next_run_at, kind
     LIMIT 1000"""
# Whoever has given nothing back has died, or stood still for a whole lease.
_TAKE: LiteralString = """
    UPDATE source_schedule
       SET claim = %(claim)s, last_run_at = clock_timestamp(),
           deaths = CASE WHEN claim IS NULL THEN 0 ELSE deaths + 1 END,
           leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE source = %(source)s AND kind = %(kind)s
       AND next_run_at <= clock_timestamp()
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
    RETURNING source, kind, claim, cursor, every_seconds, failures, deaths,
              %(lease)s::float8 AS lease_seconds"""
_RENEW: LiteralString = """
    UPDATE source_schedule
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE claim = %(claim)s"""
_KEEP: LiteralString = """
    UPDATE source_schedule SET cursor = %(cursor)s::jsonb, deaths = 0
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""
_FINISH: LiteralString = """
    UPDATE source_schedule
       SET claim = NULL, leased_until = NULL, failures = %(failures)s,
           last_error = %(error)s::jsonb,
           next_run_at = clock_timestamp() + make_interval(secs => %(wait)s)
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""
# Those that fail come last: what hangs must not hold up what works. The history of a
# source that has never answered waits for its first poll: if it hangs, one child does.
_DUE_OF_SOURCES: LiteralString = """
    SELECT s.source, s.kind,
           s.failures > 0 OR coalesce(p.failures, 0) > 0 AS is_failing
      FROM source_schedule s LEFT JOIN source_state p USING (source)
     WHERE s.source <> %(installation)s AND s.next_run_at <= clock_timestamp()
       AND (s.leased_until IS NULL OR s.leased_until <= clock_timestamp())
       AND p.paused IS NULL
       AND NOT (s.kind = 'backfill' AND p.last_success_at IS NULL AND EXISTS (
               SELECT FROM source_schedule t
                WHERE t.source = s.source AND t.kind = 'tail'
                  AND (t.next_run_at <= clock_timestamp()
                       OR t.leased_until > clock_timestamp())))
     ORDER BY is_failing, next_run_at, source, kind
     LIMIT 1000"""
_REST: LiteralString = """
    UPDATE source_schedule
       SET claim = NULL, leased_until = NULL, failures = 0,
           last_error = CASE WHEN %(kept)s THEN last_error END,
           next_run_at = 'infinity'
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""
_GIVE_BACK: LiteralString = """
    UPDATE source_schedule
       SET claim = NULL, leased_until = NULL, next_run_at = clock_timestamp()
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""
# Whoever has it finds its claim gone, and keeps nothing of its page.
_TAKE_BACK: LiteralString = """
    UPDATE source_schedule
       SET claim = NULL, leased_until = NULL,
           last_error = coalesce(%(error)s::jsonb, last_error),
           next_run_at = CASE WHEN %(wait)s::float8 IS NULL THEN 'infinity'
               ELSE clock_timestamp() + make_interval(secs => %(wait)s::float8) END
     WHERE source = %(source)s AND kind = %(kind)s
    RETURNING cursor"""
_BRING_FORWARD: LiteralString = """
    INSERT INTO source_schedule AS s (source, kind, every_seconds, next_run_at)
    VALUES (%(source)s, %(kind)s, %(every)s, clock_timestamp())
        ON CONFLICT (source, kind) DO UPDATE
       SET next_run_at = least(s.next_run_at, clock_timestamp()),
           cursor = CASE WHEN %(anew)s THEN NULL ELSE s.cursor END"""
# What rests goes on resting: a tail waits for the first walk.
_TRY_NOW: LiteralString = """
    UPDATE source_schedule
       SET next_run_at = least(next_run_at, clock_timestamp()), failures = 0
     WHERE source = %(source)s AND isfinite(next_run_at)
       AND (failures > 0 OR kind = %(kind)s)"""
# Whoever begins where another ends; what has begun already goes its own way.
_HAND_OVER: LiteralString = """
    UPDATE source_schedule
       SET cursor = %(cursor)s::jsonb,
           next_run_at = least(next_run_at, clock_timestamp())
     WHERE source = %(source)s AND kind = %(kind)s AND cursor IS NULL"""
_STANDING: LiteralString = """
    SELECT kind, CASE WHEN isfinite(next_run_at) THEN next_run_at END AS next_run_at,
           coalesce(leased_until > clock_timestamp(), false) AS is_running, cursor,
           failures, last_run_at, last_error
      FROM source_schedule
     WHERE source = %(source)s
     ORDER BY kind
     LIMIT 100"""
_ARRANGE_RESTING: LiteralString = """
    INSERT INTO source_schedule (source, kind, every_seconds, next_run_at)
    VALUES (%(source)s, %(kind)s, %(every)s, 'infinity')
        ON CONFLICT (source, kind) DO NOTHING"""
_FORGET: LiteralString = """
    DELETE FROM source_schedule
     WHERE source = %(source)s AND NOT kind = ANY(%(kept)s)"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run that is ours until its lease runs out."""

    source: str
    kind: str
    claim: UUID
    cursor: dict[str, Any] | None
    every_seconds: float
    failures: int
    # How many who had it died in a row, without a page that was kept.
    deaths: int
    lease_seconds: float

    @property
    def key(self) -> dict[str, Any]:
        """Return the parameters that identify the run while its lease is ours."""
        return {"source": self.source, "kind": self.kind, "claim": self.claim}


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that is due and that nobody has taken."""

    source: str
    kind: str
    # Whether the source, or this kind of run of it, has failed last.
    is_failing: bool


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """The state of one kind of run of a source."""

    kind: str
    # None: only once somebody asks for it.
    next_run_at: datetime | None
    is_running: bool
    cursor: dict[str, Any] | None
    failures: int
    last_run_at: datetime | None
    last_error: dict[str, Any] | None

    @property
    def is_cancelled(self) -> bool:
        """Tell whether the last run was cancelled and none has ended since."""
        details = (self.last_error or {}).get("details") or {}
        return details.get("reason") == CANCELLED


def arrange(
    conn: Connection,
    source: str,
    kind: str,
    every_seconds: float,
    *,
    at_once: bool = False,
) -> None:
    """Schedule a kind of run every so many seconds; idempotent."""
    values = {"source": source, "kind": kind, "every": every_seconds}
    wait = 0.0 if at_once else _jittered(every_seconds)
    conn.execute(_ARRANGE, {**values, "wait": wait})


def arrange_resting(
    conn: Connection, source: str, kind: str, every_seconds: float
) -> None:
    """Create a kind of run that is never due by itself, only on request."""
    values = {"source": source, "kind": kind, "every": every_seconds}
    conn.execute(_ARRANGE_RESTING, values)


def load_standings(conn: Connection, source: str) -> dict[str, ScheduleStatus]:
    """Return how every kind of run of a source stands, by kind."""
    found = fetch_all(conn, ScheduleStatus, _STANDING, {"source": source})
    return {one.kind: one for one in found}


def list_due_kinds(conn: Connection, source: str) -> list[str]:
    """Return the kinds of run that are due now and that nobody has taken."""
    return [str(kind) for (kind,) in conn.execute(_DUE, {"source": source})]


def take_due_run(
    conn: Connection, source: str, kind: str, *, lease_seconds: float = LEASE_SECONDS
) -> Run | None:
    """Take the run that is due; of many takers one gets it. Commit before any work."""
    values = {"source": source, "kind": kind, "claim": uuid7(), "lease": lease_seconds}
    return fetch_one(conn, Run, _TAKE, values)


def renew(conn: Connection, run: Run) -> bool:
    """Extend the lease of a run; false when it is no longer ours."""
    values = {"claim": run.claim, "lease": run.lease_seconds}
    return conn.execute(_RENEW, values).rowcount > 0


def store_cursor(conn: Connection, run: Run, cursor: dict[str, Any]) -> bool:
    """Keep how far the run has come, in the commit of its page; false if not ours."""
    return conn.execute(_KEEP, {**run.key, "cursor": json.dumps(cursor)}).rowcount > 0


def finish(
    conn: Connection,
    run: Run,
    error: LogchordError | None = None,
    *,
    wait_seconds: float | None = None,
) -> bool:
    """End the run and set when the next is due; after a failure, later each time."""
    failures = run.failures + 1 if error is not None else 0
    if wait_seconds is None:
        wait = (
            draw_wait(failures, first=_BACKOFF_SECONDS, most=_BACKOFF_CAP_SECONDS)
            if failures
            else _jittered(run.every_seconds)
        )
    else:
        wait = _jittered(wait_seconds)
    values = {
        **run.key,
        "failures": failures,
        "error": None if error is None else error.as_json(),
        "wait": wait,
    }
    return conn.execute(_FINISH, values).rowcount > 0


def list_due_runs(conn: Connection) -> list[DueRun]:
    """Return every run that is due and that nobody has taken, what works first."""
    return fetch_all(conn, DueRun, _DUE_OF_SOURCES, {"installation": INSTALLATION})


def give_back(conn: Connection, run: Run) -> bool:
    """Release a run between two steps; anybody may go on with it at once."""
    return conn.execute(_GIVE_BACK, run.key).rowcount > 0


def rest(conn: Connection, run: Run, *, keeps_error: bool = False) -> bool:
    """End the run for good; only somebody who asks for it brings it back."""
    return conn.execute(_REST, {**run.key, "kept": keeps_error}).rowcount > 0


def take_back(
    conn: Connection,
    source: str,
    kind: str,
    error: LogchordError | None = None,
    *,
    wait_seconds: float | None,
) -> dict[str, Any] | None:
    """Cancel a run whoever holds it; without a wait its kind rests."""
    values = {
        "source": source,
        "kind": kind,
        "wait": wait_seconds,
        "error": None if error is None else error.as_json(),
    }
    cursor: dict[str, Any] | None = fetch_value(conn, _TAKE_BACK, values)
    return cursor


def bring_forward(
    conn: Connection,
    source: str,
    kind: str,
    *,
    every_seconds: float,
    anew: bool = False,
) -> None:
    """Make a run due now; `anew` also forgets how far it had come."""
    values = {"source": source, "kind": kind, "every": every_seconds, "anew": anew}
    conn.execute(_BRING_FORWARD, values)


def try_now(conn: Connection, source: str, kind: str) -> None:
    """Make a kind of run due now, and each that waits because it has failed."""
    conn.execute(_TRY_NOW, {"source": source, "kind": kind})


def hand_over(
    conn: Connection, source: str, kind: str, cursor: dict[str, Any] | None
) -> None:
    """Let a run that has not begun yet begin now, at this cursor."""
    values = {"source": source, "kind": kind, "cursor": json.dumps(cursor)}
    conn.execute(_HAND_OVER, values)


def keep_only(conn: Connection, source: str, kinds: Sequence[str]) -> int:
    """Delete all runs of a source but these kinds; return how many were deleted."""
    return conn.execute(_FORGET, {"source": source, "kept": list(kinds)}).rowcount


def _jittered(seconds: float) -> float:
    # Many sources of one period do not stay in step.
    return seconds * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret
