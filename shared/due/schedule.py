"""When each source, and the installation itself, is next due: a lease and a cursor.

Missed runs collapse into one: what runs reads from its cursor, so none is made up for.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from shared.due.rows import LEASE_SECONDS
from shared.errors import LogchordError
from shared.uuid7 import uuid7

# The source of what the installation does for itself: its chores.
INSTALLATION = "*"
# A failed run comes back sooner than a day, however rarely it is due otherwise.
_FIRST_BACKOFF_SECONDS = 5.0
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
_TAKE: LiteralString = """
    UPDATE source_schedule
       SET claim = %(claim)s, last_run_at = clock_timestamp(),
           leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE source = %(source)s AND kind = %(kind)s
       AND next_run_at <= clock_timestamp()
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
    RETURNING source, kind, claim, cursor, every_seconds, failures"""
_RENEW: LiteralString = """
    UPDATE source_schedule
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE claim = %(claim)s"""
_KEEP: LiteralString = """
    UPDATE source_schedule SET cursor = %(cursor)s::jsonb
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""
_FINISH: LiteralString = """
    UPDATE source_schedule
       SET claim = NULL, leased_until = NULL, failures = %(failures)s,
           last_error = %(error)s::jsonb,
           next_run_at = clock_timestamp() + make_interval(secs => %(wait)s)
     WHERE source = %(source)s AND kind = %(kind)s AND claim = %(claim)s"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run that is ours until its lease runs out."""

    source: str
    kind: str
    claim: UUID
    cursor: dict[str, Any] | None
    every_seconds: float
    failures: int

    @property
    def key(self) -> dict[str, Any]:
        """Return what names the row while it is ours."""
        return {"source": self.source, "kind": self.kind, "claim": self.claim}


def arrange(
    conn: Connection[TupleRow], source: str, kind: str, every_seconds: float
) -> None:
    """See that this runs every so often; arranging it again changes nothing."""
    values = {"source": source, "kind": kind, "every": every_seconds}
    conn.execute(_ARRANGE, {**values, "wait": _jittered(every_seconds)})


def due(conn: Connection[TupleRow], source: str) -> list[str]:
    """Return the kinds of run that are due now and that nobody has taken."""
    return [str(kind) for (kind,) in conn.execute(_DUE, {"source": source})]


def take(
    conn: Connection[TupleRow],
    source: str,
    kind: str,
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> Run | None:
    """Take the run that is due; of many takers one gets it. Commit before any work."""
    values = {"source": source, "kind": kind, "claim": uuid7(), "lease": lease_seconds}
    with conn.cursor(row_factory=class_row(Run)) as cur:
        return cur.execute(_TAKE, values).fetchone()


def renew(
    conn: Connection[TupleRow], claim_id: UUID, *, lease_seconds: float = LEASE_SECONDS
) -> int:
    """Extend the lease of a run; return 0 when it is no longer ours."""
    values = {"claim": claim_id, "lease": lease_seconds}
    return conn.execute(_RENEW, values).rowcount


def keep(conn: Connection[TupleRow], run: Run, cursor: dict[str, Any]) -> bool:
    """Keep how far the run has come, in the commit of its page; false if not ours."""
    values = {**run.key, "cursor": json.dumps(cursor)}
    return conn.execute(_KEEP, values).rowcount > 0


def finish(
    conn: Connection[TupleRow], run: Run, error: LogchordError | None = None
) -> bool:
    """End the run and say when the next is due; after a failure, backing off."""
    failures = run.failures + 1 if error is not None else 0
    values = {
        **run.key,
        "failures": failures,
        "error": None if error is None else error.as_json(),
        "wait": _backoff(failures) if failures else _jittered(run.every_seconds),
    }
    return conn.execute(_FINISH, values).rowcount > 0


def _jittered(seconds: float) -> float:
    # Many sources of one period do not stay in step.
    return seconds * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret


def _backoff(failures: int) -> float:
    ceiling = _FIRST_BACKOFF_SECONDS * 2 ** min(failures, 16)
    return random.uniform(0.1, min(_BACKOFF_CAP_SECONDS, ceiling))  # noqa: S311
