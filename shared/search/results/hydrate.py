"""Read the rows of a page, applying rights and deletions once more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres import statement_deadline
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array
from shared.text.words.languages import UNKNOWN


@dataclass(frozen=True, slots=True)
class HitRow:
    """The columns of an entry that a result shows."""

    entry_id: UUID
    source: str
    external_id: str
    revision: int
    kind: str
    category: str | None
    origin: str
    title: str
    # The text that chunks are parts of.
    text: str
    url: str | None
    authors: list[str]
    logbooks: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    entry_time: datetime
    event_time: datetime | None
    thread_id: UUID | None
    # The language in which the text was analysed; unknown until it is.
    language: str = UNKNOWN
    # Whether the entry states a value of a device.
    states_values: bool = False

    @property
    def author(self) -> str | None:
        """Return who wrote it, in one line; None: it names nobody."""
        return ", ".join(self.authors) or None


_SHOWN: LiteralString = f"""
    SELECT e.id AS entry_id, e.source, e.external_id, e.revision, e.kind, e.category,
           e.origin, r.title, coalesce(r.plain, r.text) AS text, e.url, e.authors,
           e.logbooks, e.tags, e.metadata, e.entry_time, e.event_time,
           {rights.THREAD} AS thread_id,
           coalesce(t.language, 'unknown') AS language,
           EXISTS (SELECT FROM entry_quantity q
                    WHERE q.entry_id = e.id AND q.tenant = %(tenant)s
                      AND q.device IS NOT NULL) AS states_values
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL"""
_ROWS: LiteralString = f"""{_SHOWN}{rights.SEEN}
       AND e.id = ANY (%(ids)s::uuid[])
     LIMIT 1000"""
# Reads the first entries of a thread, for some threads never end.
_THREADS: LiteralString = f"""{_SHOWN}{rights.SEEN}
       AND {rights.in_threads("e", "%(ids)s")}
     ORDER BY e.entry_time, e.id
     LIMIT 60"""


def hydrate(
    conn: Connection, ids: Sequence[UUID], scope: Scope, timeout_ms: int
) -> dict[UUID, HitRow]:
    """Return those of these entries that the caller may see now, by id."""
    return {row.entry_id: row for row in _read(conn, _ROWS, ids, scope, timeout_ms)}


def hydrate_threads(
    conn: Connection, threads: Sequence[UUID], scope: Scope, timeout_ms: int
) -> list[HitRow]:
    """Return the entries of threads that the caller may see, oldest first."""
    return _read(conn, _THREADS, threads, scope, timeout_ms)


def _read(
    conn: Connection,
    statement: LiteralString,
    ids: Sequence[UUID],
    scope: Scope,
    timeout_ms: int,
) -> list[HitRow]:
    if not ids:
        return []
    statement_deadline.limit_time(conn, max(1, timeout_ms), one_plan=True)
    given = {"ids": format_array(ids), **scope.params}
    return fetch_all(conn, HitRow, statement, given, prepare=True)
