"""Entries as a digest cites them: what it shows of each, and nothing else."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.messaging.stage_names import DIGEST_STAGE
from shared.postgres.fetch_rows import fetch_all

# More than is cited, for blanks are joined.
_MAX_CHARS = 500
_READ: LiteralString = f"""
    SELECT e.id AS entry_id, e.revision, e.source, e.external_id, e.kind,
           {rights.THREAD} AS thread_id, r.title, e.authors, e.entry_time,
           coalesce(nullif(f.found -> 0 ->> 'summary', ''),
                    left(coalesce(r.plain, r.text), %(chars)s)) AS text,
           coalesce(m.entities, '[]') AS entities
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_metadata m ON m.entry_id = e.id AND m.tenant = %(tenant)s
      LEFT JOIN entry_finding f
             ON f.entry_id = e.id AND f.tenant = %(tenant)s
            AND f.revision = e.revision AND f.stage = %(digest)s
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}"""
OF_TIME: LiteralString = f"""{_READ}
       AND e.entry_time >= %(since)s AND e.entry_time <= %(until)s
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""
_NAMED: LiteralString = f"""{_READ}
       AND e.id = ANY(%(ids)s)
     ORDER BY e.id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class DigestEntry:
    """An entry: its summary or how its text begins, and the things that it names."""

    entry_id: UUID
    revision: int
    source: str
    external_id: str
    kind: str
    thread_id: UUID | None
    title: str
    authors: list[str]
    entry_time: datetime
    text: str
    entities: list[dict[str, Any]]


def load_digest_entries(
    conn: Connection, scope: Scope, since: datetime, until: datetime, most: int
) -> list[DigestEntry]:
    """Return the newest entries of a time."""
    values = {**_values(scope), "since": since, "until": until, "most": most}
    return fetch_all(conn, DigestEntry, OF_TIME, values, binary=True)


def load_named_entries(
    conn: Connection, scope: Scope, ids: Collection[UUID]
) -> list[DigestEntry]:
    """Return entries by their ids, at most a thousand."""
    if not ids:
        return []
    values = {**_values(scope), "ids": sorted(ids)}
    return fetch_all(conn, DigestEntry, _NAMED, values, binary=True)


def _values(scope: Scope) -> dict[str, Any]:
    return {**scope.params, "chars": _MAX_CHARS, "digest": DIGEST_STAGE}
