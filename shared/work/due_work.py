"""Due work: add it, claim it, finish it, or make it due again later.

A row (entry, stage) says that a stage must run for an entry. The lease on the row is
the only redelivery; it goes by the database's clock.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.errors import InternalError, LogchordError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import format_array
from shared.work.leases import LEASE_SECONDS, MAX_STRIKES, MOST_WAIT_SECONDS, draw_wait

LIVE, BULK = 0, 1
EVER = datetime(1970, 1, 1, tzinfo=UTC)

# Upkeep finds a row one to two seconds after it is due again, if no worker does: a
# smaller base saves little.
_BACKOFF_SECONDS = 1.0
# What is due later than any retry was put off, and nobody waits for it.
PUT_OFF_SECONDS = MOST_WAIT_SECONDS + 60.0

# The vectors of one model are due for every model in use: read by the statement that
# adds, so that a model which is taken into use misses none that is added after it.
_ADD: LiteralString = """
    WITH used AS (
        SELECT 'embed:' || m.model AS stage FROM embedding_model m
         WHERE m.active AND NOT %(exactly)s),
    named AS (
        SELECT n.stage, starts_with(n.stage, 'embed:') AS is_of_model
          FROM unnest(%(stages)s::text[]) AS n (stage)),
    stages AS (
        SELECT n.stage FROM named n
         WHERE NOT n.is_of_model OR NOT EXISTS (SELECT FROM used)
         UNION
        SELECT u.stage FROM used u
         WHERE EXISTS (SELECT FROM named n WHERE n.is_of_model))
    INSERT INTO work (entry_id, stage, tenant, class)
    SELECT due.entry_id, stages.stage, %(tenant)s, due.class
      FROM unnest(%(ids)s::uuid[], %(classes)s::smallint[]) AS due (entry_id, class)
     CROSS JOIN stages
     ORDER BY due.entry_id, stages.stage
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET want = work.want + 1, due_at = clock_timestamp(), attempts = 0, strikes = 0,
           class = least(work.class, excluded.class), last_error = NULL"""

# The order comes from the index, whatever the statistics say: analysed while it was all
# but empty, the table would be sorted whole at each claim (5 s of a million rows). And
# planned each time (0.3 ms): a plan from then is kept for as long.
BY_INDEX: LiteralString = """
    SELECT set_config('enable_sort', 'off', true),
           set_config('enable_bitmapscan', 'off', true),
           set_config('enable_seqscan', 'off', true),
           set_config('plan_cache_mode', 'force_custom_plan', true)"""

# A stage that is paused yields nothing.
_LIVE_THEN_BULK: LiteralString = """
    WITH paused AS MATERIALIZED (
        SELECT FROM stage_pause p WHERE p.stage = %(stage)s
           AND (p.until IS NULL OR p.until > statement_timestamp())),
    live AS (
        SELECT entry_id, class, due_at, attempts FROM work
         WHERE stage = %(stage)s AND class = 0
           AND due_at BETWEEN %(live_from)s AND statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
           AND strikes < %(max_strikes)s AND (attempts = 0 OR %(with_retried)s)
           AND NOT EXISTS (SELECT FROM paused)
         ORDER BY due_at
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED),
    bulk AS (
        SELECT entry_id, class, due_at, attempts FROM work
         WHERE stage = %(stage)s AND class = 1
           AND due_at BETWEEN %(bulk_from)s AND statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
           AND strikes < %(max_strikes)s AND (attempts = 0 OR %(with_retried)s)
           AND NOT EXISTS (SELECT FROM paused)
         ORDER BY due_at
         LIMIT CASE WHEN %(with_bulk)s AND NOT EXISTS (SELECT FROM live)
                    THEN %(limit)s ELSE 0 END
           FOR UPDATE SKIP LOCKED),
    candidates AS (
        SELECT entry_id, due_at, attempts FROM live
         UNION ALL
        SELECT entry_id, due_at, attempts FROM bulk),"""
# Each by its key, for the same reason.
_NAMED: LiteralString = """
    WITH candidates AS MATERIALIZED (
        SELECT found.entry_id, found.due_at, found.attempts
          FROM unnest(%(entry_ids)s::uuid[]) AS named (entry_id), LATERAL (
               SELECT entry_id, class, due_at, attempts FROM work w
                WHERE w.entry_id = named.entry_id AND w.stage || '' = %(stage)s
                  AND due_at <= statement_timestamp()
                  AND (leased_until IS NULL OR leased_until <= statement_timestamp())
                  AND strikes < %(max_strikes)s AND (attempts = 0 OR %(with_retried)s)
                  FOR UPDATE SKIP LOCKED) AS found
         WHERE NOT EXISTS (
               SELECT FROM stage_pause p WHERE p.stage = %(stage)s
                  AND (p.until IS NULL OR p.until > statement_timestamp()))
         ORDER BY class, due_at, entry_id
         LIMIT %(limit)s),"""
# What was tried before goes alone. The due time moves on with each claim, so that what
# was lost with its worker does not come first again and again. Once a pause is over, a
# single row tries whether it may end.
_TAKE: LiteralString = """
    numbered AS (
        SELECT entry_id, due_at, attempts, row_number() OVER () AS place,
               first_value(attempts) OVER () AS of_the_first
          FROM candidates),
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
     WHERE w.entry_id = n.entry_id AND w.stage || '' = %(stage)s
       AND (n.place = 1
            OR (n.of_the_first = 0 AND n.attempts = 0 AND NOT probe.needed))
    RETURNING w.entry_id, w.stage, w.tenant, w.claim, w.attempts, w.strikes, w.alone,
              w.class AS work_class, probe.needed AS is_probe, n.due_at AS was_due_at"""
_CLAIM: LiteralString = _LIVE_THEN_BULK + _TAKE
_CLAIM_NAMED: LiteralString = _NAMED + _TAKE

# By the claim alone, which is of one stage: with the stage beside it, statistics that
# are old make the whole backlog be looked through.
_LOCK_CLAIM: LiteralString = """
    SELECT FROM work WHERE claim = %(claim)s ORDER BY entry_id FOR UPDATE"""
# Locked before and sorted, as for every write of many rows: the batch may be finishing.
_RENEW: LiteralString = """
    UPDATE work
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE claim = %(claim)s"""

# The rows are locked first: an update that is committed while the end waits for its
# lock is then seen by the statement that decides, and cannot be lost.
_LOCK_OURS: LiteralString = """
    SELECT FROM work
     WHERE claim = %(claim)s AND entry_id = ANY(%(entry_ids)s::uuid[])
     ORDER BY entry_id
       FOR UPDATE"""
_FINISH: LiteralString = """
    WITH done AS (
        DELETE FROM work
         WHERE claim = %(claim)s AND entry_id = ANY(%(entry_ids)s::uuid[])
           AND want = claimed_want
        RETURNING entry_id, stage, tenant),
    moved AS (
        UPDATE work SET claim = NULL, claimed_want = NULL, leased_until = NULL
         WHERE claim = %(claim)s AND entry_id = ANY(%(entry_ids)s::uuid[])
           AND want <> claimed_want),
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

_PUT_OFF: LiteralString = """
    UPDATE work AS w
       SET claim = NULL, claimed_want = NULL, leased_until = NULL, attempts = 0,
           strikes = 0,
           -- No row is old that waits for its moment.
           created_at = greatest(w.created_at, p.until),
           due_at = CASE WHEN w.want = w.claimed_want THEN p.until
                         ELSE clock_timestamp() END
      FROM unnest(%(entry_ids)s::uuid[], %(until)s::timestamptz[])
           AS p (entry_id, until)
     WHERE w.claim = %(claim)s AND w.entry_id = p.entry_id"""

_RELEASE: LiteralString = """
    UPDATE work
       SET claim = NULL, claimed_want = NULL, leased_until = NULL,
           attempts = greatest(attempts - 1, 0),
           strikes = greatest(strikes - alone::int, 0)
     WHERE claim = %(claim)s"""

# Over a backlog of a million rows too: it hops from stage to stage by the index.
KNOWN_STAGES: LiteralString = """
    WITH RECURSIVE hopped (stage) AS (
        (SELECT stage FROM work ORDER BY stage LIMIT 1)
        UNION ALL
        SELECT (SELECT w.stage FROM work w WHERE w.stage > hopped.stage
                 ORDER BY w.stage LIMIT 1)
          FROM hopped WHERE hopped.stage IS NOT NULL),
    known AS MATERIALIZED (SELECT stage FROM hopped WHERE stage IS NOT NULL)"""
# Asked every second; it stops at the first row of each stage.
_LATE_OF_KNOWN: LiteralString = """
    SELECT known.stage
      FROM known, LATERAL (
           SELECT FROM work w
            WHERE w.stage = known.stage AND w.class = ANY ('{0,1}')
              AND w.due_at <= statement_timestamp() - make_interval(secs => %(grace)s)
              AND (w.leased_until IS NULL OR w.leased_until <= statement_timestamp())
              AND w.strikes < %(max_strikes)s
            ORDER BY w.class
            LIMIT 1) AS late
     WHERE NOT EXISTS (
           SELECT FROM stage_pause p WHERE p.stage = known.stage
              AND (p.until IS NULL OR p.until > statement_timestamp()))
     ORDER BY known.stage
     LIMIT 1000"""
_OVERDUE: LiteralString = KNOWN_STAGES + _LATE_OF_KNOWN

_SPENT: LiteralString = """
    SELECT entry_id, stage, tenant, claim, attempts, strikes, alone,
           class AS work_class, false AS is_probe, due_at AS was_due_at
      FROM work
     WHERE strikes >= %(max_strikes)s AND claim IS NOT NULL
       AND leased_until <= statement_timestamp()
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED"""


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
    was_due_at: datetime


def add(
    conn: Connection,
    tenant: str,
    entry_ids: Iterable[UUID],
    stages: Sequence[str],
    *,
    work_class: int = LIVE,
    bulk: Container[UUID] = (),
    exactly: bool = False,
) -> None:
    """Make stages due for entries; work that is running stays due afterwards.

    Vectors are due for every model in use, unless `exactly` the stage named is meant.
    """
    ids = sorted(entry_ids)
    if not ids or not stages:
        return
    classes = [BULK if one in bulk else work_class for one in ids]
    values = {"ids": ids, "classes": classes, "stages": list(stages)}
    conn.execute(_ADD, {**values, "tenant": tenant, "exactly": exactly})


@dataclass(frozen=True, slots=True)
class ClaimCursor:
    """Where a worker's last claim ended, so that it need not scan those rows again.

    What is dead before it stays in the index for as long as any old snapshot is open.
    """

    live: datetime = EVER
    bulk: datetime = EVER

    def after(self, taken: Sequence[Claim]) -> ClaimCursor:
        """Return the cursor behind these claims."""
        live, bulk = self.live, self.bulk
        for one in taken:
            if one.work_class == LIVE:
                live = max(live, one.was_due_at)
            else:
                bulk = max(bulk, one.was_due_at)
        return ClaimCursor(live, bulk)


def claim(
    conn: Connection,
    stage: str,
    *,
    limit: int,
    entry_ids: Sequence[UUID] | None = None,
    lease_seconds: float = LEASE_SECONDS,
    bound: ClaimCursor | None = None,
    with_bulk: bool = True,
    with_retried: bool = True,
) -> list[Claim]:
    """Take due rows, counting the attempt; commit before any work is done on them."""
    bound = bound or ClaimCursor()
    values = {
        "stage": stage,
        "limit": limit,
        "max_strikes": MAX_STRIKES,
        "claim": uuid7(),
        "lease": lease_seconds,
        "live_from": bound.live,
        "bulk_from": bound.bulk,
        "with_bulk": with_bulk,
        "with_retried": with_retried,
        "entry_ids": None if entry_ids is None else sorted(entry_ids),
    }
    conn.execute(BY_INDEX)
    statement = _CLAIM if entry_ids is None else _CLAIM_NAMED
    taken = fetch_all(conn, Claim, statement, values, binary=True)
    # As numbers, for ids are compared ten times as slowly.
    return sorted(taken, key=lambda row: (row.work_class, row.entry_id.int))


def renew(
    conn: Connection, claim_id: UUID, *, lease_seconds: float = LEASE_SECONDS
) -> int:
    """Extend the lease of every row of a claim; return how many are still ours."""
    values = {"claim": claim_id, "lease": lease_seconds}
    conn.execute(_LOCK_CLAIM, values)
    return conn.execute(_RENEW, values).rowcount


def finish(conn: Connection, *claims: Claim, all_ours: bool = False) -> int:
    """End the work of one batch and return how many ended.

    What moved on meanwhile stays due; a lost claim finishes nothing, or is an error.
    """
    if not claims:
        return 0
    ids = sorted(one.entry_id for one in claims)
    values = {"claim": claims[0].claim, "entry_ids": format_array(ids)}
    held = conn.execute(_LOCK_OURS, values).rowcount
    if all_ours and held < len(ids):
        raise InternalError(technical="a claim was lost", retriable=True)
    return int(fetch_value(conn, _FINISH, values) or 0)


def put_off(conn: Connection, claim_id: UUID, until: Mapping[UUID, datetime]) -> None:
    """Make entries of a claim due again at a moment each, as if never tried."""
    values = {"claim": claim_id, "entry_ids": [*until], "until": [*until.values()]}
    conn.execute(_LOCK_CLAIM, {"claim": claim_id})
    conn.execute(_PUT_OFF, values)


def retry_later(
    conn: Connection,
    taken: Claim,
    error: LogchordError,
    *,
    backend: bool,
    strike: bool = True,
) -> bool:
    """Make the row due again, or tell that it is not ours; a backend costs nothing."""
    retried = conn.execute(
        _RETRY_LATER,
        {
            "entry_id": taken.entry_id,
            "stage": taken.stage,
            "claim": taken.claim,
            "wait": draw_wait(taken.attempts, first=_BACKOFF_SECONDS),
            "given_back": 1 if backend else 0,
            "strike": 1 if strike and not backend else 0,
            "error": error.as_json(),
        },
    )
    return retried.rowcount > 0


def release(conn: Connection, claim_id: UUID) -> None:
    """Give back what a batch claimed and did not begin."""
    values = {"claim": claim_id}
    conn.execute(_LOCK_CLAIM, values)
    conn.execute(_RELEASE, values)


def list_overdue_stages(conn: Connection, *, grace_seconds: float) -> list[str]:
    """Return the stages with rows that nobody works on although they are due."""
    with conn.transaction():
        conn.execute(BY_INDEX)
        values = {"grace": grace_seconds, "max_strikes": MAX_STRIKES}
        found = conn.execute(_OVERDUE, values).fetchall()
    return [str(row[0]) for row in found]


def lock_rows_out_of_strikes(conn: Connection, *, limit: int) -> list[Claim]:
    """Lock and return rows whose worker died too often while they travelled alone."""
    # Ordered by the database, they would be looked for in the order of the key. Only a
    # plan that knows the number of strikes can use their index.
    conn.execute(BY_INDEX)
    found = fetch_all(conn, Claim, _SPENT, {"limit": limit, "max_strikes": MAX_STRIKES})
    return sorted(found, key=lambda row: (row.entry_id, row.stage))
