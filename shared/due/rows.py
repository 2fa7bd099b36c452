"""Due work: add it, claim it, finish it, or make it due again later.

A row (entry, stage) says that a stage must run for an entry. The lease on the row is
the only redelivery; it goes by the database's clock.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from shared.errors import LogchordError
from shared.uuid7 import uuid7

LEASE_SECONDS = 15.0
# A death in a batch is none: only what travels alone, or fails by itself, counts.
MAX_STRIKES = 3
LIVE, BULK = 0, 1

_BACKOFF_BASE_SECONDS = 1.0
_BACKOFF_CAP_SECONDS = 300.0

_ADD: LiteralString = """
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT due.entry_id, due.stage, %(tenant)s, %(class)s
      FROM unnest(%(entry_ids)s::uuid[], %(stages)s::text[]) AS due (entry_id, stage)
     ORDER BY due.entry_id, due.stage
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET want = work.want + 1, due_at = clock_timestamp(), attempts = 0, strikes = 0,
           class = least(work.class, excluded.class), last_error = NULL"""

# What was tried before goes alone. The due time moves on with each claim, so that what
# was lost with its worker does not come first again and again. A stage that is paused
# yields nothing; once the pause is over, a single row tries whether it may end.
_CLAIM: LiteralString = """
    WITH candidates AS (
        SELECT entry_id, stage, class, due_at, attempts FROM work
         WHERE stage = %(stage)s AND class = ANY ('{0,1}')
           AND due_at <= statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
           AND strikes < 3
           AND (%(entry_ids)s::uuid[] IS NULL OR entry_id = ANY(%(entry_ids)s))
           AND NOT EXISTS (
               SELECT FROM stage_pause p WHERE p.stage = %(stage)s
                  AND (p.until IS NULL OR p.until > statement_timestamp()))
         ORDER BY class, due_at, entry_id
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED),
    numbered AS (
        SELECT entry_id, stage, attempts, row_number() OVER in_order AS place,
               first_value(attempts) OVER in_order AS of_the_first
          FROM candidates WINDOW in_order AS (ORDER BY class, due_at, entry_id)),
    probe AS (
        SELECT EXISTS (SELECT FROM stage_pause p WHERE p.stage = %(stage)s) AS needed)
    UPDATE work AS w
       SET claim = %(claim)s, claimed_want = w.want, claimed_at = clock_timestamp(),
           due_at = clock_timestamp(),
           leased_until = clock_timestamp() + make_interval(secs => %(lease)s),
           alone = w.attempts > 0,
           strikes = w.strikes + (w.attempts > 0)::int,
           attempts = w.attempts + 1
      FROM numbered n, probe
     WHERE w.entry_id = n.entry_id AND w.stage = n.stage
       AND (n.place = 1
            OR (n.of_the_first = 0 AND n.attempts = 0 AND NOT probe.needed))
    RETURNING w.entry_id, w.stage, w.tenant, w.claim, w.attempts, w.strikes, w.alone,
              w.class AS work_class, probe.needed AS is_probe"""

# Sorted, as every write of many rows: the batch may be finishing meanwhile.
_RENEW: LiteralString = """
    WITH ours AS (
        SELECT entry_id, stage FROM work
         WHERE claim = %(claim)s
         ORDER BY entry_id, stage
           FOR UPDATE)
    UPDATE work AS w
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
      FROM ours
     WHERE w.entry_id = ours.entry_id AND w.stage = ours.stage"""

# The rows are locked first: an update that is committed while the end waits for its
# lock is then seen by the statement that decides, and cannot be lost.
_LOCK_OURS: LiteralString = """
    SELECT FROM work
     WHERE stage = %(stage)s AND claim = %(claim)s AND entry_id = ANY(%(entry_ids)s)
     ORDER BY entry_id
       FOR UPDATE"""
_FINISH: LiteralString = """
    WITH done AS (
        DELETE FROM work
         WHERE stage = %(stage)s AND claim = %(claim)s
           AND entry_id = ANY(%(entry_ids)s) AND want = claimed_want
        RETURNING entry_id, stage, tenant),
    moved AS (
        UPDATE work SET claim = NULL, claimed_want = NULL, leased_until = NULL
         WHERE stage = %(stage)s AND claim = %(claim)s
           AND entry_id = ANY(%(entry_ids)s) AND want <> claimed_want),
    cleared AS (
        DELETE FROM quarantine q USING done
         WHERE q.entry_id = done.entry_id AND q.stage = done.stage
           AND q.tenant = done.tenant),
    noted AS (
        INSERT INTO stage_outcome (stage, done)
        SELECT stage, count(*) FROM done GROUP BY stage)
    SELECT count(*) FROM done"""

_RETRY_LATER: LiteralString = """
    UPDATE work
       SET claim = NULL, claimed_want = NULL, leased_until = NULL,
           -- An edit that came meanwhile does not wait for what its old text did, and
           -- bears none of its strikes.
           due_at = clock_timestamp() + make_interval(
               secs => CASE WHEN want = claimed_want THEN %(wait)s ELSE 0 END),
           attempts = greatest(attempts - %(given_back)s, 0),
           strikes = CASE WHEN want <> claimed_want THEN 0
                          ELSE greatest(strikes - alone::int + %(strike)s, 0) END,
           last_error = %(error)s::jsonb
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s"""

_RELEASE: LiteralString = """
    WITH ours AS (
        SELECT entry_id, stage FROM work
         WHERE claim = %(claim)s AND stage = %(stage)s
         ORDER BY entry_id
           FOR UPDATE)
    UPDATE work AS w
       SET claim = NULL, claimed_want = NULL, leased_until = NULL,
           attempts = greatest(w.attempts - 1, 0),
           strikes = greatest(w.strikes - w.alone::int, 0)
      FROM ours
     WHERE w.entry_id = ours.entry_id AND w.stage = ours.stage"""

# Asked every second, over a backlog of a million rows too: it hops from stage to stage
# by the index and stops at the first row of each.
_OVERDUE: LiteralString = """
    WITH RECURSIVE known (stage) AS (
        (SELECT stage FROM work ORDER BY stage LIMIT 1)
        UNION ALL
        SELECT (SELECT w.stage FROM work w WHERE w.stage > known.stage
                 ORDER BY w.stage LIMIT 1)
          FROM known WHERE known.stage IS NOT NULL)
    SELECT known.stage
      FROM known, LATERAL (
           SELECT FROM work w
            WHERE w.stage = known.stage AND w.class = ANY ('{0,1}')
              AND w.due_at <= statement_timestamp() - make_interval(secs => %(grace)s)
              AND (w.leased_until IS NULL OR w.leased_until <= statement_timestamp())
              AND w.strikes < 3
            ORDER BY w.class
            LIMIT 1) AS late
     WHERE NOT EXISTS (
           SELECT FROM stage_pause p WHERE p.stage = known.stage
              AND (p.until IS NULL OR p.until > statement_timestamp()))
     ORDER BY known.stage
     LIMIT 1000"""

_SPENT: LiteralString = """
    SELECT entry_id, stage, tenant, claim, attempts, strikes, alone,
           class AS work_class, false AS is_probe
      FROM work
     WHERE strikes >= 3 AND claim IS NOT NULL AND leased_until <= statement_timestamp()
     ORDER BY entry_id, stage
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED"""

_ANY_DUE: LiteralString = """
    SELECT EXISTS (SELECT FROM work
                    WHERE entry_id = ANY(%(entry_ids)s) AND stage = ANY(%(stages)s))"""


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of due work that is ours until its lease runs out."""

    entry_id: UUID
    stage: str
    tenant: str
    claim: UUID
    attempts: int
    strikes: int
    alone: bool
    work_class: int
    is_probe: bool


def add(
    conn: Connection[TupleRow],
    tenant: str,
    entry_ids: Iterable[UUID],
    stages: Sequence[str],
    *,
    work_class: int = LIVE,
) -> None:
    """Make stages due for entries; work that is running stays due afterwards."""
    pairs = sorted((entry_id, stage) for entry_id in entry_ids for stage in stages)
    if not pairs:
        return
    conn.execute(
        _ADD,
        {
            "tenant": tenant,
            "class": work_class,
            "entry_ids": [entry_id for entry_id, _ in pairs],
            "stages": [stage for _, stage in pairs],
        },
    )


def claim(
    conn: Connection[TupleRow],
    stage: str,
    *,
    limit: int,
    entry_ids: Sequence[UUID] | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> list[Claim]:
    """Take due rows, counting the attempt; commit before any work is done on them."""
    with conn.cursor(row_factory=class_row(Claim)) as cur:
        rows = cur.execute(
            _CLAIM,
            {
                "stage": stage,
                "entry_ids": None if entry_ids is None else list(entry_ids),
                "limit": limit,
                "claim": uuid7(),
                "lease": lease_seconds,
            },
        ).fetchall()
    return sorted(rows, key=lambda row: (row.work_class, row.entry_id))


def renew(
    conn: Connection[TupleRow], claim_id: UUID, *, lease_seconds: float = LEASE_SECONDS
) -> int:
    """Extend the lease of every row of a claim; return how many are still ours."""
    values = {"claim": claim_id, "lease": lease_seconds}
    return conn.execute(_RENEW, values).rowcount


def finish(conn: Connection[TupleRow], *claims: Claim) -> int:
    """End the work of one batch and return how many ended.

    What moved on meanwhile stays due; a lost claim finishes nothing.
    """
    if not claims:
        return 0
    values = {
        "stage": claims[0].stage,
        "claim": claims[0].claim,
        "entry_ids": sorted(one.entry_id for one in claims),
    }
    conn.execute(_LOCK_OURS, values)
    row = conn.execute(_FINISH, values).fetchone()
    return int(row[0]) if row else 0


def retry_later(
    conn: Connection[TupleRow],
    taken: Claim,
    error: LogchordError,
    *,
    backend: bool,
    strike: bool = True,
) -> None:
    """Make the row due again, jittered; a backend's failure gives the attempt back."""
    ceiling = min(
        _BACKOFF_CAP_SECONDS, _BACKOFF_BASE_SECONDS * 2 ** min(taken.attempts, 16)
    )
    conn.execute(
        _RETRY_LATER,
        {
            "entry_id": taken.entry_id,
            "stage": taken.stage,
            "claim": taken.claim,
            # Full jitter keeps a failed batch from coming back as one.
            "wait": random.uniform(0.1, ceiling),  # noqa: S311 - not a secret
            "given_back": 1 if backend else 0,
            "strike": 1 if strike and not backend else 0,
            "error": json.dumps(error.body()["error"]),
        },
    )


def release(conn: Connection[TupleRow], stage: str, claim_id: UUID) -> None:
    """Give back what a batch claimed and did not begin."""
    conn.execute(_RELEASE, {"stage": stage, "claim": claim_id})


def overdue(conn: Connection[TupleRow], *, grace_seconds: float) -> list[str]:
    """Return the stages with rows that nobody works on although they are due."""
    found = conn.execute(_OVERDUE, {"grace": grace_seconds}).fetchall()
    return [str(row[0]) for row in found]


def spent(conn: Connection[TupleRow], *, limit: int) -> list[Claim]:
    """Lock and return rows whose worker died too often while they travelled alone."""
    with conn.cursor(row_factory=class_row(Claim)) as cur:
        return cur.execute(_SPENT, {"limit": limit}).fetchall()


def any_due(
    conn: Connection[TupleRow], entry_ids: Sequence[UUID], stages: Sequence[str]
) -> bool:
    """Tell whether any of these stages is still to be done for any of these entries."""
    values = {"entry_ids": list(entry_ids), "stages": list(stages)}
    row = conn.execute(_ANY_DUE, values).fetchone()
    return row is not None and bool(row[0])
