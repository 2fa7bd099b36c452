"""Where an entry stands among its like, and who stands beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich.duplicates.series import SeriesPlace
from shared.postgres.fetch_rows import fetch_one

_STANDING: LiteralString = """
    SELECT l.shape_id, s.digest, s.group_id, l.source, l.pattern, l.at, l.series_id
      FROM likeness l
      LEFT JOIN shape s ON s.id = l.shape_id AND s.tenant = l.tenant
     WHERE l.entry_id = %(entry_id)s AND l.tenant = %(tenant)s"""
_STORE: LiteralString = """
    INSERT INTO likeness (entry_id, tenant, shape_id, source, pattern, at, series_id)
    VALUES (%(entry_id)s, %(tenant)s, %(shape_id)s, %(source)s, %(pattern)s, %(at)s,
            %(series_id)s)"""
# Two are enough to know whether one was alone.
BESIDE_IN_GROUP: LiteralString = """
    SELECT l.entry_id
      FROM shape s
      JOIN likeness l ON l.shape_id = s.id
     WHERE s.tenant = %(tenant)s AND l.tenant = %(tenant)s
       AND s.group_id = %(part)s AND l.entry_id <> %(entry_id)s
       AND NOT s.id = ANY(%(moved)s)
     LIMIT 2"""
BESIDE_IN_SERIES: LiteralString = """
    SELECT entry_id FROM likeness
     WHERE tenant = %(tenant)s AND series_id = %(part)s AND entry_id <> %(entry_id)s
       AND NOT entry_id = ANY(%(moved)s)
     LIMIT 2"""


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """The group and the series that an entry was placed in, and by what."""

    shape_id: UUID | None
    digest: bytes | None
    group_id: UUID | None
    source: str
    pattern: bytes | None
    at: datetime
    series_id: UUID | None

    def place(self, tenant: str, entry_id: UUID) -> SeriesPlace | None:
        """Return where it stands among what machines write, if one wrote it."""
        if self.pattern is None:
            return None
        return SeriesPlace(tenant, self.source, self.pattern, self.at, entry_id)


def load_position(
    conn: Connection, tenant: str, entry_id: UUID
) -> GroupPosition | None:
    """Return where an entry stands, if it has a place already."""
    key = {"entry_id": entry_id, "tenant": tenant}
    return fetch_one(conn, GroupPosition, _STANDING, key)


def store(conn: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep where entries stand that have no place yet."""
    with conn.cursor() as cur:
        cur.executemany(_STORE, rows)


def list_beside(
    conn: Connection,
    query: LiteralString,
    tenant: str,
    entry_id: UUID,
    part: UUID | None,
    moved: Sequence[UUID] = (),
) -> list[UUID]:
    """Return up to two others of a group or series, but for those just come to it."""
    if part is None:
        return []
    given = {"tenant": tenant, "entry_id": entry_id, "part": part, "moved": list(moved)}
    return [one for (one,) in conn.execute(query, given).fetchall()]
