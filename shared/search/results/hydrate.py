"""Read the rows of a page, applying rights and deletions once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres import statement_deadline
from shared.postgres.pool import format_array
from shared.text.words.languages import UNKNOWN


@dataclass(frozen=True, slots=True)
class HitRow:
    """What a result shows of its entry."""

    entry_id: UUID
    source: str
    external_id: str
    revision: int
    kind: str
    category: str | None
    origin: str
    title: str
    # As it is read: what chunks are parts of.
    text: str
    url: str | None
    authors: list[str]
    logbooks: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    entry_time: datetime
    event_time: datetime | None
    thread_id: UUID | None
    # In which its words were read; unknown until they are.
    language: str = UNKNOWN
    # Whether it says of a device what value something has.
    states_values: bool = False


_SHOWN: LiteralString = """
    SELECT e.id AS entry_id, e.source, e.external_id, e.revision, e.kind, e.category,
           e.origin, r.title, coalesce(r.plain, r.text) AS text, e.url, e.authors,
           e.logbooks, e.tags, e.metadata, e.entry_time, e.event_time, e.thread_id,
           coalesce(t.language, 'unknown') AS language,
           EXISTS (SELECT FROM entry_quantity q
                    WHERE q.entry_id = e.id AND q.tenant = %(tenant)s
                      AND q.device IS NOT NULL) AS states_values
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL"""
_ROWS: LiteralString = (
    _SHOWN
    + rights.SEEN
    + """
       AND e.id = ANY (%(ids)s::uuid[])
     LIMIT 1000"""
)
# Of a thread that never ends, its first entries.
_THREADS: LiteralString = (
    _SHOWN
    + rights.SEEN
    + """
       AND e.thread_id = ANY (%(ids)s::uuid[])
     ORDER BY e.entry_time, e.id
     LIMIT 60"""
)


def hydrate(
    conn: Connection[Any], ids: Sequence[UUID], scope: Scope, timeout_ms: int
) -> dict[UUID, HitRow]:
    """Return the rows that the caller may see now, whatever a branch said."""
    rows = _read(conn, _ROWS, ids, scope, timeout_ms)
    return {row.entry_id: row for row in rows}


def hydrate_threads(
    conn: Connection[Any], threads: Sequence[UUID], scope: Scope, timeout_ms: int
) -> list[HitRow]:
    """Return the entries of threads that the caller may see, oldest first."""
    return _read(conn, _THREADS, threads, scope, timeout_ms)


def _read(
    conn: Connection[Any],
    statement: LiteralString,
    ids: Sequence[UUID],
    scope: Scope,
    timeout_ms: int,
) -> list[HitRow]:
    if not ids:
        return []
    statement_deadline.limit_time(conn, max(1, timeout_ms), one_plan=True)
    given = {"ids": format_array(ids), **scope.params}
    with conn.cursor(row_factory=class_row(HitRow)) as cur:
        return cur.execute(statement, given, prepare=True).fetchall()
