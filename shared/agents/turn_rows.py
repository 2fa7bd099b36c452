"""The turns of an agent as rows, claimed under a lease."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.types.json import Jsonb

from shared.postgres.fetch_rows import fetch_all, fetch_one
from shared.postgres.pool import Pool
from shared.work import leases

# A holder that has not renewed its lease for so long is gone.
LEASE_SECONDS, RENEW_SECONDS = 5.0, 2.0
_BATCH = 100


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as it is stored."""

    turn_no: int
    state: str
    model_out: dict[str, Any] | None
    calls: list[dict[str, Any]]
    # By number of the call, as JSON has it.
    outcomes: dict[str, dict[str, Any]]
    tokens_in: int
    tokens_out: int
    repeated: int
    took_ms: float | None
    exit_reason: str | None

    @property
    def results(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return each call with its outcome, which is empty as long as it has none."""
        return [
            (one, self.outcomes.get(str(n), {})) for n, one in enumerate(self.calls)
        ]

    @property
    def missing(self) -> list[int]:
        """Return the numbers of the calls that have no outcome yet."""
        return [n for n in range(len(self.calls)) if str(n) not in self.outcomes]


@dataclass(frozen=True, slots=True)
class RunningJob:
    """An agent's job as Postgres knows it, whatever became of Redis."""

    tenant: str
    subject: str
    key_id: str | None
    plan: dict[str, Any]
    # Since it was accepted, and until its end; by the database's clock.
    age_seconds: float
    left_seconds: float
    has_ended: bool
    cancelled: bool


_COLUMNS: LiteralString = """
    turn_no, state, model_out, calls, outcomes, tokens_in, tokens_out, repeated,
    took_ms, exit_reason"""
_JOB: LiteralString = """
    SELECT tenant, subject, key_id, plan,
           extract(epoch FROM clock_timestamp() - created_at)::float8 AS age_seconds,
           extract(epoch FROM deadline_at - clock_timestamp())::float8 AS left_seconds,
           ended_at IS NOT NULL AS has_ended, cancelled
      FROM job
     WHERE id = %(job_id)s"""
# What a crash of the server's machine takes back is claimed or stored once more, out of
# what Redis has; the model's words alone are worth waiting for the disk.
_LAZILY: LiteralString = "SELECT set_config('synchronous_commit', 'off', true)"
# A turn that was taken up before counts it: its model may have been asked twice.
_CLAIM: LiteralString = """
    INSERT INTO agent_turn AS t (job_id, turn_no, tenant, state, holder, lease_until)
    VALUES (%(job_id)s, %(turn_no)s, %(tenant)s, 'asked', %(holder)s,
            clock_timestamp() + make_interval(secs => %(lease)s))
        ON CONFLICT (job_id, turn_no) DO UPDATE
       SET holder = excluded.holder, lease_until = excluded.lease_until,
           repeated = t.repeated + 1
     WHERE t.tenant = %(tenant)s AND t.state IN ('asked', 'calling')
       AND (t.lease_until IS NULL OR t.lease_until < clock_timestamp())
    RETURNING """
# By its holder, or by each of its running calls.
_RENEW: LiteralString = """
    UPDATE agent_turn
       SET lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE job_id = %(job_id)s AND turn_no = %(turn_no)s AND tenant = %(tenant)s
       AND state IN ('asked', 'calling')
       AND (%(holder)s::uuid IS NULL OR holder = %(holder)s)
    RETURNING turn_no"""
_SAID: LiteralString = """
    UPDATE agent_turn
       SET state = 'calling', model_out = %(model_out)s, calls = %(calls)s,
           outcomes = %(outcomes)s, request_hash = %(request_hash)s,
           tokens_in = tokens_in + %(tokens_in)s,
           tokens_out = tokens_out + %(tokens_out)s, took_ms = %(took_ms)s,
           lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE job_id = %(job_id)s AND turn_no = %(turn_no)s AND tenant = %(tenant)s
       AND holder = %(holder)s AND state = 'asked'
    RETURNING turn_no"""
_SPENT: LiteralString = """
    UPDATE agent_turn
       SET tokens_in = tokens_in + %(tokens_in)s,
           tokens_out = tokens_out + %(tokens_out)s
     WHERE job_id = %(job_id)s AND turn_no = %(turn_no)s AND tenant = %(tenant)s"""
_KEEP: LiteralString = """
    UPDATE agent_turn
       SET outcomes = %(outcomes)s || outcomes,
           state = CASE WHEN %(is_done)s THEN 'done' ELSE state END
     WHERE job_id = %(job_id)s AND turn_no = %(turn_no)s AND tenant = %(tenant)s
       AND state IN ('calling', 'done')"""
_END: LiteralString = """
    UPDATE agent_turn
       SET state = 'ended', exit_reason = %(exit_reason)s
     WHERE job_id = %(job_id)s AND tenant = %(tenant)s AND state <> 'ended'
       AND turn_no = (SELECT max(l.turn_no) FROM agent_turn l
                       WHERE l.job_id = %(job_id)s AND l.tenant = %(tenant)s)"""
_OF_JOB: LiteralString = f"""SELECT {_COLUMNS}
      FROM agent_turn
     WHERE job_id = %(job_id)s AND tenant = %(tenant)s
     ORDER BY turn_no
     LIMIT 1000"""
# A turn behind which another one stands has been settled, or will be by that one.
_LEFT_ALONE: LiteralString = """
    SELECT t.job_id, t.turn_no
      FROM agent_turn t
      JOIN job j ON j.id = t.job_id AND j.tenant = t.tenant
     WHERE t.state IN ('asked', 'calling') AND t.lease_until < clock_timestamp()
       AND j.ended_at IS NULL AND j.deadline_at > clock_timestamp()
     ORDER BY t.lease_until, t.job_id, t.turn_no
     LIMIT %(batch)s"""
# An agent's job of which nobody has taken the first turn, or the one behind the last.
_NOT_TAKEN: LiteralString = """
    SELECT j.id, coalesce(max(t.turn_no), 0) + 1
      FROM job j
      LEFT JOIN agent_turn t ON t.job_id = j.id AND t.tenant = j.tenant
     WHERE j.ended_at IS NULL AND j.deadline_at > clock_timestamp()
       AND j.plan ->> 'method' = 'agent'
       AND j.created_at < clock_timestamp() - make_interval(secs => %(lease)s)
     GROUP BY j.id
    HAVING coalesce(bool_and(t.state = 'done'), true)
     ORDER BY j.id
     LIMIT %(batch)s"""
_FORGET: LiteralString = "DELETE FROM agent_turn WHERE job_id < %(before)s"


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn in one's hands, for as long as the lease is renewed."""

    job_id: UUID
    tenant: str
    holder: UUID
    row: TurnRow

    @property
    def key(self) -> dict[str, Any]:
        """Return the parameters that identify the claimed turn in every statement."""
        return _key(self.job_id, self.tenant, self.row.turn_no, self.holder)


def _key(
    job_id: UUID, tenant: str, turn_no: int, holder: UUID | None = None
) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "tenant": tenant,
        "turn_no": turn_no,
        "holder": holder,
        "lease": LEASE_SECONDS,
    }


def find_job(conn: Connection, job_id: UUID) -> RunningJob | None:
    """Return an agent's job; None: there is none of this id any more."""
    return fetch_one(conn, RunningJob, _JOB, {"job_id": job_id})


def claim(conn: Connection, job_id: UUID, tenant: str, turn_no: int) -> Claim | None:
    """Claim a turn; None: another worker has it, or it is done."""
    holder = uuid4()
    given = _key(job_id, tenant, turn_no, holder)
    conn.execute(_LAZILY)
    row = fetch_one(conn, TurnRow, _CLAIM + _COLUMNS, given)
    return None if row is None else Claim(job_id, tenant, holder, row)


def renew(conn: Connection, one: Claim) -> bool:
    """Renew the lease of a turn; False: it was lost to another worker."""
    return conn.execute(_RENEW, one.key).fetchone() is not None


def renewed(
    pool: Pool, renew: Callable[[Connection], object]
) -> AbstractContextManager[Callable[[], bool]]:
    """Renew the lease of a turn while the block runs: its job has a deadline."""
    timing = leases.Timing(LEASE_SECONDS, RENEW_SECONDS, math.inf)
    return leases.renewed(pool, renew, timing)


def hold(conn: Connection, job_id: UUID, tenant: str, turn_no: int) -> None:
    """Extend the lease of a turn while one of its calls is carried out."""
    conn.execute(_RENEW, _key(job_id, tenant, turn_no))


def keep_what_was_said(
    conn: Connection,
    one: Claim,
    *,
    model_out: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]],
    outcomes: Mapping[str, Mapping[str, Any]],
    request_hash: str,
    tokens: tuple[int, int],
    took_ms: float,
) -> bool:
    """Store the model's words before they are acted on; False: the turn was lost."""
    given = {
        **one.key,
        "model_out": Jsonb(model_out),
        "calls": Jsonb(list(calls)),
        "outcomes": Jsonb(dict(outcomes)),
        "request_hash": request_hash,
        "tokens_in": tokens[0],
        "tokens_out": tokens[1],
        "took_ms": took_ms,
    }
    return conn.execute(_SAID, given).fetchone() is not None


def keep_spent_tokens(conn: Connection, one: Claim, tokens: tuple[int, int]) -> None:
    """Count what a call cost that said nothing of use."""
    conn.execute(_SPENT, {**one.key, "tokens_in": tokens[0], "tokens_out": tokens[1]})


def keep_outcomes(
    conn: Connection,
    job_id: UUID,
    tenant: str,
    turn_no: int,
    outcomes: Mapping[str, Mapping[str, Any]],
    *,
    is_done: bool,
) -> None:
    """Store outcomes of calls; outcomes that are stored already stay."""
    found = {"outcomes": Jsonb(dict(outcomes)), "is_done": is_done}
    conn.execute(_LAZILY)
    conn.execute(_KEEP, {**_key(job_id, tenant, turn_no), **found})


def end(conn: Connection, job_id: UUID, tenant: str, exit_reason: str) -> None:
    """Store why no turn follows the last one."""
    conn.execute(_END, {"job_id": job_id, "tenant": tenant, "exit_reason": exit_reason})


def list_turns(conn: Connection, job_id: UUID, tenant: str) -> list[TurnRow]:
    """Return the turns of a job in their order."""
    return fetch_all(conn, TurnRow, _OF_JOB, {"job_id": job_id, "tenant": tenant})


def list_left_alone(conn: Connection) -> list[tuple[UUID, int]]:
    """Return the turns whose holders are gone, and those that nobody has taken."""
    given = {"batch": _BATCH, "lease": LEASE_SECONDS}
    rows = [*conn.execute(_LEFT_ALONE, given), *conn.execute(_NOT_TAKEN, given)]
    return [(row[0], int(row[1])) for row in rows]


def forget(conn: Connection, before: UUID) -> None:
    """Remove the turns of jobs that are no longer kept."""
    conn.execute(_FORGET, {"before": before})
