"""Chores: rows with a lease and a cursor, worked on in short steps.

Each step commits its effect together with the cursor, so whoever takes the row after a
death goes on from there. At most one chore of a kind is unfinished.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.errors import ConflictError, LogchordError, NotFoundError, WorkerLostError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value
from shared.work.leases import LEASE_SECONDS, MAX_STRIKES, draw_wait

EXPIRE, RECONCILE_INDEX = "expire", "reconcile_index"
REBUILD_INDEX = "rebuild_index"
REBUILD_KNOWLEDGE = "rebuild_knowledge"
REEMBED_MODEL = "reembed_model"
REMOVE_FILES = "remove_files"
RETIRE_ENTRIES = "retire_entries"
RENEW_TEXTS = "renew_texts"
COUNT_WORDS = "count_words"
MINE_GLOSSARY = "mine_glossary"
KEPT_DAYS = 30

_BACKOFF_SECONDS = 2.0
_OUTAGE_SECONDS = 5.0
# How often a step looks whether what it waits for has come.
LOOK_SECONDS = 1.0

_COLUMNS: LiteralString = """
    id, kind, state, cursor, done, total, attempts, strikes, due_at, error, result,
    created_at, started_at, ended_at, heartbeat"""

_OPEN: LiteralString = """
    INSERT INTO maintenance (id, kind, cursor) VALUES (%(id)s, %(kind)s, %(cursor)s)
        ON CONFLICT (kind) WHERE ended_at IS NULL DO NOTHING
    RETURNING id"""
# Whoever walks just now has passed what must be looked at again: their claim is lost.
_START_OVER: LiteralString = """
    INSERT INTO maintenance (id, kind) VALUES (%(id)s, %(kind)s)
        ON CONFLICT (kind) WHERE ended_at IS NULL DO UPDATE
       SET state = 'queued', cursor = NULL, done = 0, total = NULL, claim = NULL,
           leased_until = NULL, strikes = 0, due_at = clock_timestamp(), error = NULL,
           started_at = NULL"""
# The strike counts before the work: who dies in a step never reaches code after it.
_CLAIM: LiteralString = """
    UPDATE maintenance
       SET claim = %(claim)s, state = 'running', attempts = attempts + 1,
           strikes = strikes + 1, heartbeat = clock_timestamp(),
           started_at = coalesce(started_at, clock_timestamp()),
           leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
     WHERE kind = %(kind)s AND (%(id)s::uuid IS NULL OR id = %(id)s)
       AND ended_at IS NULL AND strikes < %(most)s
       AND due_at <= clock_timestamp()
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
    RETURNING id, kind, claim, cursor, done, total, strikes,
              %(lease)s::float8 AS lease_seconds"""
_RENEW: LiteralString = """
    UPDATE maintenance
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s),
           heartbeat = clock_timestamp()
     WHERE claim = %(claim)s AND ended_at IS NULL"""
_HOLD: LiteralString = """
    SELECT FROM maintenance WHERE id = %(id)s AND claim = %(claim)s FOR UPDATE"""
# A step done proves that what died before was not its own fault.
_ADVANCE: LiteralString = """
    UPDATE maintenance
       SET cursor = %(cursor)s::jsonb, done = %(done)s, total = %(total)s, strikes = 1,
           heartbeat = clock_timestamp(), error = NULL
     WHERE id = %(id)s AND claim = %(claim)s"""
_RELEASE: LiteralString = """
    UPDATE maintenance
       SET claim = NULL, leased_until = NULL, state = 'queued',
           strikes = greatest(strikes - %(given_back)s, 0),
           error = coalesce(%(error)s::jsonb, error),
           due_at = clock_timestamp() + make_interval(secs => %(wait)s)
     WHERE id = %(id)s AND claim = %(claim)s"""
_END: LiteralString = """
    UPDATE maintenance
       SET state = %(state)s, claim = NULL, leased_until = NULL,
           ended_at = clock_timestamp(), error = %(error)s::jsonb,
           result = %(result)s::jsonb
     WHERE id = %(id)s AND claim = %(claim)s"""
_END_LOST: LiteralString = """
    UPDATE maintenance
       SET state = 'failed', claim = NULL, leased_until = NULL,
           ended_at = clock_timestamp(), error = coalesce(error, %(error)s::jsonb)
     WHERE ended_at IS NULL AND strikes >= %(most)s
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
    RETURNING kind"""
_CANCEL: LiteralString = """
    UPDATE maintenance
       SET state = 'cancelled', claim = NULL, leased_until = NULL,
           ended_at = clock_timestamp()
     WHERE id = %(id)s AND ended_at IS NULL"""
_OVERDUE: LiteralString = """
    SELECT kind, id FROM maintenance
     WHERE ended_at IS NULL AND due_at <= clock_timestamp()
       AND (leased_until IS NULL OR leased_until <= clock_timestamp())
     ORDER BY due_at, kind
     LIMIT 1000"""
_FORGET: LiteralString = """
    DELETE FROM maintenance WHERE id = ANY (ARRAY(
        SELECT id FROM maintenance
         WHERE ended_at < clock_timestamp() - make_interval(days => %(days)s)
         ORDER BY ended_at
         LIMIT %(limit)s))"""
_ONE: LiteralString = "SELECT" + _COLUMNS + " FROM maintenance WHERE id = %(id)s"
_LAST_DONE: LiteralString = f"""SELECT{_COLUMNS} FROM maintenance
     WHERE kind = ANY(%(kinds)s) AND state = 'done' AND result IS NOT NULL
     ORDER BY ended_at DESC, id DESC LIMIT 1"""
_LAST_OF: LiteralString = f"""SELECT{_COLUMNS} FROM maintenance WHERE kind = %(kind)s
     ORDER BY created_at DESC, id DESC LIMIT 1"""
_NOW: LiteralString = "SELECT clock_timestamp()"
_UNFINISHED: LiteralString = f"""SELECT{_COLUMNS} FROM maintenance
     WHERE ended_at IS NULL ORDER BY created_at, id LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A chore as it stands."""

    id: UUID
    kind: str
    state: str
    cursor: dict[str, Any] | None
    done: int
    total: int | None
    attempts: int
    strikes: int
    due_at: datetime
    error: dict[str, Any] | None
    # What it came to, once it is done.
    result: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    heartbeat: datetime | None

    @property
    def phase(self) -> str | None:
        """Return the present phase of a chore that has phases."""
        return (self.cursor or {}).get("phase")

    @property
    def per_minute(self) -> float | None:
        """Return the chore's rate so far, with the time that it waited."""
        last = self.ended_at or self.heartbeat
        if self.started_at is None or last is None:
            return None
        seconds = (last - self.started_at).total_seconds()
        return 60 * self.done / seconds if seconds > 0 else None

    @property
    def eta_seconds(self) -> float | None:
        """Return how long the rest takes at that rate."""
        if self.ended_at is not None:
            return 0.0
        if self.total is None or not self.per_minute:
            return None
        return max(0, self.total - self.done) / self.per_minute * 60


@dataclass(frozen=True, slots=True)
class Chore:
    """A chore that is ours until its lease runs out."""

    id: UUID
    kind: str
    claim: UUID
    cursor: dict[str, Any] | None
    done: int
    total: int | None
    strikes: int
    lease_seconds: float

    @property
    def key(self) -> dict[str, Any]:
        """Return the parameters that identify the chore while its lease is ours."""
        return {"id": self.id, "claim": self.claim}


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress after a step; without a cursor the chore is done."""

    cursor: dict[str, Any] | None
    done: int
    total: int | None = None
    # The next step waits for something: nobody holds the chore meanwhile.
    wait_seconds: float = 0.0
    # The outcome of the chore, set with its last step.
    result: dict[str, Any] | None = None


# What a step commits; what is slow comes before it, outside every transaction.
Effect = Callable[[Connection], Progress]


@dataclass(frozen=True, slots=True)
class PhasedChore:
    """A chore whose steps have phases; subclasses add what the steps work with."""

    chore: Chore

    @property
    def came(self) -> dict[str, Any]:
        """Return how far the chore came; nothing where it has not begun."""
        return self.chore.cursor or {}

    def goes_on(self, phase: str, **fields: Any) -> Progress:
        """Return the cursor of the next step; values that are not named stay."""
        cursor = {**self.came, "phase": phase, **fields}
        return Progress(cursor, self.chore.done, self.chore.total)

    def waits(self) -> Progress:
        """Return the progress that repeats this step after a pause."""
        done, total = self.chore.done, self.chore.total
        return Progress(self.came, done, total, wait_seconds=LOOK_SECONDS)


def open_chore(
    conn: Connection, kind: str, cursor: dict[str, Any] | None = None
) -> UUID | None:
    """Make a chore due and return its id; None if one of its kind is unfinished."""
    begins = None if cursor is None else json.dumps(cursor)
    return fetch_value(conn, _OPEN, {"id": uuid7(), "kind": kind, "cursor": begins})


def ask(
    conn: Connection, kind: str, cursor: dict[str, Any] | None, refusal: str
) -> UUID:
    """Make a chore due, and return its id; refuse if one of its kind is under way."""
    opened = open_chore(conn, kind, cursor)
    if opened is not None:
        return opened
    known = find_unfinished(conn, kind)
    told = {"maintenance_id": str(known) if known else None}
    raise ConflictError(refusal, code="maintenance_in_progress", details=told)


def find_unfinished(conn: Connection, kind: str) -> UUID | None:
    """Return the chore of this kind that has not ended."""
    return next((one.id for one in list_unfinished(conn) if one.kind == kind), None)


def start_over(conn: Connection, kind: str) -> None:
    """Make a chore due from its beginning, also if one of its kind is under way."""
    conn.execute(_START_OVER, {"id": uuid7(), "kind": kind})


def claim(
    conn: Connection,
    kind: str,
    maintenance_id: UUID | None = None,
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> Chore | None:
    """Take the chore of this kind that is due; commit before any work on it."""
    values = {
        "kind": kind,
        "id": maintenance_id,
        "claim": uuid7(),
        "lease": lease_seconds,
        "most": MAX_STRIKES,
    }
    return fetch_one(conn, Chore, _CLAIM, values)


def renew(conn: Connection, chore: Chore) -> bool:
    """Extend the lease of a chore; false when it is no longer ours."""
    values = {"claim": chore.claim, "lease": chore.lease_seconds}
    return conn.execute(_RENEW, values).rowcount > 0


def hold(conn: Connection, chore: Chore) -> bool:
    """Lock the row for the commit of a step; false when it is no longer ours."""
    return conn.execute(_HOLD, chore.key).fetchone() is not None


def advance(conn: Connection, chore: Chore, progress: Progress) -> None:
    """Keep how far the chore has come, in the commit of the step's effect."""
    values = {
        **chore.key,
        "cursor": None if progress.cursor is None else json.dumps(progress.cursor),
        "done": progress.done,
        "total": progress.total,
    }
    conn.execute(_ADVANCE, values)
    if progress.cursor is None:
        result = None if progress.result is None else json.dumps(progress.result)
        ended = {**chore.key, "state": "done", "error": None, "result": result}
        conn.execute(_END, ended)
    elif progress.wait_seconds:
        give_back(conn, chore, wait_seconds=progress.wait_seconds)


def give_back(conn: Connection, chore: Chore, *, wait_seconds: float = 0.0) -> None:
    """Release a chore between two steps; the next taker goes on, after a while."""
    given = {"given_back": 1, "error": None, "wait": wait_seconds}
    conn.execute(_RELEASE, {**chore.key, **given})


def retry_chore_later(
    conn: Connection, chore: Chore, error: LogchordError, *, backend: bool
) -> None:
    """Make a failed chore due again; a backend's outage is no strike."""
    failures = 0 if backend else chore.strikes
    first = _OUTAGE_SECONDS if backend else _BACKOFF_SECONDS
    values = {
        **chore.key,
        "given_back": int(backend),
        "error": error.as_json(admin=True),
        "wait": draw_wait(failures, first=first, least_share=0.5),
    }
    conn.execute(_RELEASE, values)


def fail(conn: Connection, chore: Chore, error: LogchordError) -> None:
    """End a chore with the reason why it cannot be done."""
    told = error.as_json(admin=True)
    conn.execute(_END, {**chore.key, "state": "failed", "error": told, "result": None})


def fail_lost(conn: Connection) -> list[str]:
    """End what no worker survives, and return of which kinds."""
    values = {"most": MAX_STRIKES, "error": WorkerLostError().as_json(admin=True)}
    return [str(kind) for (kind,) in conn.execute(_END_LOST, values)]


def cancel(conn: Connection, maintenance_id: UUID) -> Maintenance:
    """End a chore between two steps; one that has ended stays as it is."""
    conn.execute(_CANCEL, {"id": maintenance_id})
    return find(conn, maintenance_id)


def find(conn: Connection, maintenance_id: UUID) -> Maintenance:
    """Return a chore, ended or not."""
    found = fetch_one(conn, Maintenance, _ONE, {"id": maintenance_id})
    if found is None:
        raise NotFoundError
    return found


def find_last_done(conn: Connection, *kinds: str) -> Maintenance | None:
    """Return the chore of these kinds that was last done and has a result."""
    return fetch_one(conn, Maintenance, _LAST_DONE, {"kinds": list(kinds)})


def last_of(conn: Connection, kind: str) -> Maintenance | None:
    """Return the chore of this kind that was begun last, ended or not."""
    return fetch_one(conn, Maintenance, _LAST_OF, {"kind": kind})


def list_unfinished(conn: Connection) -> list[Maintenance]:
    """Return every chore that has not ended."""
    return fetch_all(conn, Maintenance, _UNFINISHED)


def overdue(conn: Connection) -> list[tuple[str, UUID]]:
    """Return kind and id of chores that are due and that nobody holds."""
    return [(str(kind), one) for kind, one in conn.execute(_OVERDUE)]


def read_clock(conn: Connection) -> datetime:
    """Return the moment by the clock that leases go by."""
    now: datetime | None = fetch_value(conn, _NOW)
    assert now is not None
    return now


def forget(conn: Connection, *, limit: int) -> int:
    """Delete at most so many chores that ended long ago; return how many."""
    return conn.execute(_FORGET, {"days": KEPT_DAYS, "limit": limit}).rowcount
