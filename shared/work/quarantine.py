"""Work that cannot be done, kept with its reason and out of everybody's way."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.errors import LogchordError, WorkerLostError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all
from shared.work import due_work, quarantine_budget, stage_pauses
from shared.work.due_work import Claim
from shared.work.quarantine_budget import BUDGET, Budget

_QUARANTINE: LiteralString = """
    INSERT INTO quarantine (id, tenant, entry_id, source, external_id, stage, revision,
                            attempts, error)
    SELECT %(id)s, e.tenant, e.id, e.source, e.external_id, %(stage)s, e.revision,
           %(attempts)s, %(error)s::jsonb
      FROM entry e
     WHERE e.id = %(entry_id)s AND e.tenant = %(tenant)s
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET revision = excluded.revision, attempts = excluded.attempts,
           error = excluded.error, last_at = now()"""
# Only a claim that is still ours ends the row; a newer `want` stays due.
_END_ROW: LiteralString = """
    DELETE FROM work
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s
       AND want = claimed_want"""
_RELEASE_ROW: LiteralString = """
    UPDATE work SET claim = NULL, claimed_want = NULL, leased_until = NULL
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s"""
# Two processes must not both quarantine the last that the budget allows.
_ONE_AT_A_TIME: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended('quarantine ' || %(stage)s, 0))"""
_MINE: LiteralString = """
    SELECT id, tenant, entry_id, source, external_id, stage, revision, attempts, error,
           excerpt, times, first_at, last_at
      FROM quarantine
     WHERE (tenant = %(tenant)s OR %(tenant)s = '*')
       AND (entry_id IS NOT NULL OR %(messages)s)
       AND (%(id)s::uuid IS NULL OR id = %(id)s)
       AND (%(source)s::text IS NULL OR source = %(source)s)
       AND (%(stage)s::text IS NULL OR stage = %(stage)s)
       AND (%(code)s::text IS NULL OR error ->> 'code' = %(code)s)
       AND (%(after)s::uuid IS NULL OR id < %(after)s)
     ORDER BY id DESC
     LIMIT %(limit)s"""
_FORGET: LiteralString = """
    DELETE FROM quarantine
     WHERE id = ANY (%(ids)s) AND (tenant = %(tenant)s OR %(tenant)s = '*')"""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A quarantined stage of an entry, or a message that nobody could read."""

    id: UUID
    tenant: str | None
    entry_id: UUID | None
    source: str | None
    external_id: str | None
    stage: str
    revision: int | None
    attempts: int
    error: dict[str, Any]
    excerpt: str | None
    # How often: messages with the same fault are one row.
    times: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Which:
    """Which quarantined work of a tenant; `*` means all tenants, and messages."""

    tenant: str
    id: UUID | None = None
    source: str | None = None
    stage: str | None = None
    code: str | None = None


class Released(NamedTuple):
    """How much a release made due, and the stages that it let go on."""

    released: int
    resumed: list[str]
    stages: list[str]
    # What a source sent and still cannot be read.
    still_quarantined: int = 0
    # The last that was looked at, where there may be older ones.
    last: UUID | None = None


def add(
    conn: Connection, taken: Claim, error: LogchordError, budget: Budget = BUDGET
) -> bool | None:
    """Quarantine an entry's stage; false when the row stays due, None: it is not ours.

    It does when it moved on, and when the stage has quarantined as many as it may: then
    the stage is paused instead, and the row has one attempt more once it is released.
    """
    key = {"entry_id": taken.entry_id, "stage": taken.stage, "claim": taken.claim}
    conn.execute(_ONE_AT_A_TIME, {"stage": taken.stage})
    if quarantine_budget.budget_is_spent(conn, taken.stage, budget):
        stage_pauses.pause_for_budget(conn, taken.stage, error)
        is_ours = due_work.retry_later(
            conn, taken, error, backend=taken.alone, strike=False
        )
        return False if is_ours else None
    if conn.execute(_END_ROW, key).rowcount == 0:
        return False if conn.execute(_RELEASE_ROW, key).rowcount else None
    conn.execute(
        _QUARANTINE,
        {
            **key,
            "id": uuid7(),
            "tenant": taken.tenant,
            "attempts": taken.attempts,
            "error": error.as_json(admin=True),
        },
    )
    quarantine_budget.note_quarantined(conn, taken.stage)
    return True


Add = Callable[[Connection, Claim, LogchordError], bool | None]


def add_spent(conn: Connection, *, put: Add = add) -> list[Claim]:
    """Quarantine entries whose workers died again and again while they travelled alone.

    Each in a transaction of its own, that begins with no row locked: `put` may lock the
    entry, which everybody locks before its work.
    """
    with conn.transaction():
        spent = due_work.lock_rows_out_of_strikes(conn, limit=100)
    gone = []
    for claim in spent:
        told = f"{claim.strikes} workers ended while each had it alone"
        with conn.transaction():
            if put(conn, claim, WorkerLostError(technical=told)):
                gone.append(claim)
    return gone


def list_quarantined(
    conn: Connection,
    which: Which,
    *,
    limit: int,
    after: UUID | None = None,
    messages: bool = True,
) -> list[Quarantined]:
    """Return the quarantined work, the newest first."""
    values = {**asdict(which), "after": after, "limit": limit, "messages": messages}
    return fetch_all(conn, Quarantined, _MINE, values)


def release(
    conn: Connection, which: Which, *, limit: int, after: UUID | None = None
) -> Released:
    """Make quarantined work due again, and let a stage that its budget paused go on.

    The newest first, those `after` one that is named. Many at once are bulk work: what
    comes in meanwhile does not wait for them.
    """
    # A message is not sent again; those there are must not take the room of entries.
    found = list_quarantined(conn, which, limit=limit, after=after, messages=False)
    last = found[-1].id if len(found) == limit else None
    work_class = due_work.LIVE if which.id is not None else due_work.BULK
    # Work before quarantine, as whoever quarantines takes its locks, and in order.
    found.sort(key=lambda row: (str(row.tenant), row.stage, str(row.entry_id)))
    for (tenant, stage), group in groupby(found, lambda row: (row.tenant, row.stage)):
        ids = [row.entry_id for row in group if row.entry_id]
        due_work.add(conn, str(tenant), ids, [stage], work_class=work_class)
    _forget(conn, which.tenant, [row.id for row in found])
    named = {which.stage} if which.stage else set()
    touched = sorted({row.stage for row in found} | named)
    for stage in touched:
        quarantine_budget.forgive(conn, stage)
    resumed = [stage for stage in touched if stage_pauses.resume(conn, stage)]
    return Released(len(found), resumed, touched, last=last)


def discard(conn: Connection, which: Which) -> Quarantined | None:
    """Discard quarantined work for good and return it; None where there is none."""
    found = list_quarantined(conn, which, limit=1)
    _forget(conn, which.tenant, [row.id for row in found])
    return found[0] if found else None


def _forget(conn: Connection, tenant: str, ids: Sequence[UUID]) -> None:
    conn.execute(_FORGET, {"ids": sorted(ids), "tenant": tenant})
