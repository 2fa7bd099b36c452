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

LEASE_SECONDS = 15
LEASE_RENEW_SECONDS = 5
HARD_LIMIT_SECONDS = 60
LIVE, BULK = 0, 1

_BACKOFF_BASE_SECONDS = 1.0
_BACKOFF_CAP_SECONDS = 300.0

_ADD: LiteralString = """
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT due.entry_id, due.stage, %(tenant)s, %(class)s
      FROM unnest(%(entry_ids)s::uuid[], %(stages)s::text[]) AS due (entry_id, stage)
     ORDER BY due.entry_id, due.stage
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET want = work.want + 1, due_at = clock_timestamp(), attempts = 0,
           class = least(work.class, excluded.class), last_error = NULL"""

_CLAIM: LiteralString = """
    WITH picked AS (
        SELECT entry_id, stage FROM work
         WHERE stage = %(stage)s AND class = ANY ('{0,1}')
           AND due_at <= statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
           AND (%(entry_ids)s::uuid[] IS NULL OR entry_id = ANY(%(entry_ids)s))
         ORDER BY class, due_at, entry_id
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED)
    UPDATE work AS w
       SET claim = %(claim)s, claimed_want = w.want, claimed_at = clock_timestamp(),
           leased_until = clock_timestamp() + make_interval(secs => %(lease)s),
           attempts = w.attempts + 1
      FROM picked p
     WHERE w.entry_id = p.entry_id AND w.stage = p.stage
    RETURNING w.entry_id, w.stage, w.tenant, w.claim, w.attempts,
              w.class AS work_class"""

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

# One statement, so that an update that arrives between the two halves cannot be lost.
_FINISH: LiteralString = """
    WITH done AS (
        DELETE FROM work
         WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s
           AND want = claimed_want
        RETURNING true),
    moved AS (
        UPDATE work SET claim = NULL, claimed_want = NULL, leased_until = NULL
         WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s
           AND want <> claimed_want
        RETURNING true)
    SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM moved)"""

_RETRY_LATER: LiteralString = """
    UPDATE work
       SET claim = NULL, claimed_want = NULL, leased_until = NULL,
           -- An edit that came meanwhile does not wait for what its old text did.
           due_at = clock_timestamp() + make_interval(
               secs => CASE WHEN want = claimed_want THEN %(wait)s ELSE 0 END),
           attempts = greatest(attempts - %(given_back)s, 0),
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
           attempts = greatest(w.attempts - 1, 0)
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
            ORDER BY w.class
            LIMIT 1) AS late
     ORDER BY known.stage
     LIMIT 1000"""

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
    work_class: int


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
                "lease": LEASE_SECONDS,
            },
        ).fetchall()
    return sorted(rows, key=lambda row: (row.work_class, row.entry_id))


def renew(conn: Connection[TupleRow], claim_id: UUID) -> int:
    """Extend the lease of every row of a claim; return how many are still ours."""
    values = {"claim": claim_id, "lease": LEASE_SECONDS}
    return conn.execute(_RENEW, values).rowcount


def finish(conn: Connection[TupleRow], taken: Claim) -> bool:
    """End the work unless it moved on meanwhile; a lost claim finishes nothing."""
    row = conn.execute(
        _FINISH,
        {"entry_id": taken.entry_id, "stage": taken.stage, "claim": taken.claim},
    ).fetchone()
    return row is not None and bool(row[0])


def retry_later(
    conn: Connection[TupleRow], taken: Claim, error: LogchordError, *, backend: bool
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


def any_due(
    conn: Connection[TupleRow], entry_ids: Sequence[UUID], stages: Sequence[str]
) -> bool:
    """Tell whether any of these stages is still to be done for any of these entries."""
    values = {"entry_ids": list(entry_ids), "stages": list(stages)}
    row = conn.execute(_ANY_DUE, values).fetchone()
    return row is not None and bool(row[0])
