"""Runs: each pull of a source is a row that says what it found, also while it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.errors import ConflictError, LogchordError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all, fetch_one

TAIL, RECONCILE, BACKFILL, REPARSE = "tail", "reconcile", "backfill", "reparse"
KINDS = (TAIL, RECONCILE, BACKFILL, REPARSE)
KEPT_DAYS = 30

_COLUMNS: LiteralString = """
    SELECT id, tenant, source, kind, state, asked, window_from, window_to, created_at,
           started_at, ended_at, heartbeat_at, seen, bytes, added, updated, unchanged,
           deleted, rejected, quarantined, expected, cursor_before, cursor_after, error
      FROM ingestion_run
     WHERE tenant = %(tenant)s"""
_OPEN: LiteralString = f"""{_COLUMNS}
       AND source = %(source)s AND kind = %(kind)s AND ended_at IS NULL
       FOR UPDATE"""
_ONE: LiteralString = _COLUMNS + " AND id = %(id)s"
_LISTING: LiteralString = f"""{_COLUMNS}
       AND (%(source)s::text IS NULL OR source = %(source)s)
       AND (%(state)s::text IS NULL OR state = %(state)s)
       AND (%(after)s::uuid IS NULL OR id < %(after)s)
     ORDER BY id DESC
     LIMIT %(limit)s"""
_INSERT: LiteralString = """
    INSERT INTO ingestion_run (id, tenant, source, kind, asked, window_from, window_to)
    VALUES (%(id)s, %(tenant)s, %(source)s, %(kind)s, %(asked)s, %(from)s, %(to)s)
        ON CONFLICT (source, kind) WHERE ended_at IS NULL DO NOTHING"""
_BEGIN: LiteralString = """
    UPDATE ingestion_run
       SET state = 'running', heartbeat_at = clock_timestamp(),
           started_at = coalesce(started_at, clock_timestamp()),
           cursor_before = CASE WHEN started_at IS NULL THEN %(cursor)s::jsonb
                                ELSE cursor_before END
     WHERE id = %(id)s AND tenant = %(tenant)s AND ended_at IS NULL"""
_COUNT: LiteralString = """
    UPDATE ingestion_run
       SET heartbeat_at = clock_timestamp(), seen = seen + %(seen)s,
           bytes = bytes + %(bytes)s, added = added + %(added)s,
           updated = updated + %(updated)s, unchanged = unchanged + %(unchanged)s,
           deleted = deleted + %(deleted)s, rejected = rejected + %(rejected)s,
           quarantined = quarantined + %(quarantined)s,
           expected = coalesce(%(expected)s, expected)
     WHERE id = %(id)s AND tenant = %(tenant)s"""
_KEEP_PLACE: LiteralString = """
    UPDATE ingestion_run SET cursor_after = %(cursor)s::jsonb
     WHERE id = %(id)s AND tenant = %(tenant)s AND ended_at IS NULL"""
_END: LiteralString = """
    UPDATE ingestion_run
       SET state = CASE WHEN %(error)s::jsonb IS NULL THEN 'done'
                        WHEN added + updated + unchanged + deleted > 0 THEN 'partial'
                        ELSE 'failed' END,
           error = %(error)s::jsonb, cursor_after = %(cursor)s::jsonb,
           ended_at = clock_timestamp(), heartbeat_at = clock_timestamp()
     WHERE id = %(id)s AND tenant = %(tenant)s AND ended_at IS NULL"""
_FORGET: LiteralString = """
    DELETE FROM ingestion_run
     WHERE id IN (SELECT id FROM ingestion_run
                   WHERE ended_at < now() - make_interval(days => %(days)s)
                   ORDER BY ended_at LIMIT %(limit)s)"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items of each outcome a page or a run brought."""

    seen: int = 0
    bytes: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    rejected: int = 0
    quarantined: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sum of both counts."""
        mine, theirs = asdict(self), asdict(other)
        return Counts(**{key: mine[key] + theirs[key] for key in mine})


@dataclass(frozen=True, slots=True)
class IngestionRun:
    """A run as it is stored."""

    id: UUID
    tenant: str
    source: str
    kind: str
    state: str
    asked: dict[str, Any]
    window_from: datetime | None
    window_to: datetime | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    heartbeat_at: datetime | None
    seen: int
    bytes: int
    added: int
    updated: int
    unchanged: int
    deleted: int
    rejected: int
    quarantined: int
    expected: int | None
    cursor_before: dict[str, Any] | None
    cursor_after: dict[str, Any] | None
    error: dict[str, Any] | None

    @property
    def is_requested(self) -> bool:
        """Tell whether somebody asked for the run; else it was due by itself."""
        return bool(self.asked)

    @property
    def limit(self) -> int | None:
        """Return the most items to read, if the request gave a limit."""
        value = self.asked.get("limit")
        return value if isinstance(value, int) else None

    @property
    def is_dry(self) -> bool:
        """Tell whether the run stores nothing."""
        return self.asked.get("dry_run") is True

    @property
    def then(self) -> datetime | None:
        """Return when the kind is due again after a dry run; None: at rest."""
        value = self.asked.get("then")
        return datetime.fromisoformat(value) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of a requested run, beside its kind."""

    start: datetime | None = None
    end: datetime | None = None
    limit: int | None = None
    dry_run: bool = False
    confirm_prune: bool = False
    # When the kind was due before somebody asked for a dry run of it.
    then: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the options that the row keeps, without the window."""
        whole = {
            "requested": True,
            "limit": self.limit,
            "dry_run": self.dry_run,
            "confirm_prune": self.confirm_prune,
            "then": self.then.isoformat() if self.then else None,
        }
        return {key: value for key, value in whole.items() if value}


def ask_for(
    conn: Connection, tenant: str, source: str, kind: str, asked: RunRequest
) -> UUID:
    """Queue a run and return its id; one that is open already is a conflict."""
    run_id = uuid7()
    if _insert(conn, run_id, _key(tenant, source, kind), asked):
        return run_id
    is_open = find_open(conn, tenant, source, kind)
    message = f"A run of kind {kind} of {source} has not ended yet."
    raise ConflictError(
        message,
        code="run_in_progress",
        details={"run_id": str(is_open.id) if is_open else None},
    )


def find_open(
    conn: Connection, tenant: str, source: str, kind: str
) -> IngestionRun | None:
    """Return the run of this source and kind that has not ended, locked."""
    return fetch_one(conn, IngestionRun, _OPEN, _key(tenant, source, kind))


def begin(
    conn: Connection,
    tenant: str,
    source: str,
    kind: str,
    cursor: Mapping[str, Any] | None,
) -> IngestionRun | None:
    """Return the open run, or a new one, as running; None if it ended meanwhile."""
    _insert(conn, uuid7(), _key(tenant, source, kind), None)
    run = find_open(conn, tenant, source, kind)
    if run is None:
        # Whoever cancelled it had it locked: it was in the way, and is no more.
        return None
    conn.execute(_BEGIN, {"id": run.id, "tenant": tenant, "cursor": _json(cursor)})
    return run


def count(
    conn: Connection, run: IngestionRun, counts: Counts, *, expected: int | None = None
) -> None:
    """Add the counts of a page, in the page's own commit."""
    values = {**asdict(counts), "expected": expected}
    conn.execute(_COUNT, {**values, "id": run.id, "tenant": run.tenant})


def keep_place(conn: Connection, run: IngestionRun, cursor: Mapping[str, Any]) -> None:
    """Store how far a dry run has come; only that run reads it."""
    values = {"id": run.id, "tenant": run.tenant, "cursor": _json(cursor)}
    conn.execute(_KEEP_PLACE, values)


def end(
    conn: Connection,
    run: IngestionRun,
    cursor: Mapping[str, Any] | None,
    error: LogchordError | None = None,
) -> None:
    """End the run: done, or partial or failed with the reason."""
    conn.execute(
        _END,
        {
            "id": run.id,
            "tenant": run.tenant,
            "cursor": _json(cursor),
            "error": None if error is None else error.as_json(admin=True),
        },
    )


def find_run(conn: Connection, tenant: str, run_id: UUID) -> IngestionRun | None:
    """Return one run of a tenant."""
    return fetch_one(conn, IngestionRun, _ONE, {"id": run_id, "tenant": tenant})


def list_runs(
    conn: Connection,
    tenant: str,
    *,
    limit: int,
    source: str | None = None,
    state: str | None = None,
    after: UUID | None = None,
) -> list[IngestionRun]:
    """Return runs, the newest first."""
    values = {
        "tenant": tenant,
        "source": source,
        "state": state,
        "after": after,
        "limit": limit,
    }
    return fetch_all(conn, IngestionRun, _LISTING, values)


def forget(conn: Connection, *, limit: int) -> int:
    """Forget at most so many runs that ended long ago; return how many."""
    return conn.execute(_FORGET, {"days": KEPT_DAYS, "limit": limit}).rowcount


def _insert(
    conn: Connection, run_id: UUID, key: Mapping[str, str], asked: RunRequest | None
) -> bool:
    start, end = (asked.start, asked.end) if asked else (None, None)
    options = json.dumps(asked.as_json() if asked else {})
    values = {**key, "id": run_id, "from": start, "to": end, "asked": options}
    return conn.execute(_INSERT, values).rowcount > 0


def _key(tenant: str, source: str, kind: str) -> dict[str, str]:
    return {"tenant": tenant, "source": source, "kind": kind}


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(dict(value))
