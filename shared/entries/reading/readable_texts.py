"""Texts of entries without the markup that they came in, each of the revision named."""

from collections.abc import Collection
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope

_TEXTS: LiteralString = f"""
    SELECT e.id, r.number, left(coalesce(r.plain, r.text), %(most)s)
      FROM unnest(%(ids)s::uuid[], %(numbers)s::int[]) AS w (id, number)
      JOIN entry e ON e.id = w.id
      JOIN revision r ON r.entry_id = e.id AND r.number = w.number
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}
     ORDER BY e.id, r.number
     LIMIT 1000"""
# As long as Postgres counts.
_WHOLE = 2**31 - 1


def load_readable_texts(
    conn: Connection,
    scope: Scope,
    wanted: Collection[tuple[UUID, int]],
    most: int = _WHOLE,
) -> dict[tuple[UUID, int], str]:
    """Return the texts of revisions that the caller may see, at most a thousand.

    `most`: how many characters of each.
    """
    if not wanted:
        return {}
    values = {
        **scope.params,
        "ids": [entry_id for entry_id, _ in wanted],
        "numbers": [number for _, number in wanted],
        "most": most,
    }
    rows = conn.execute(_TEXTS, values).fetchall()
    return {(row[0], int(row[1])): str(row[2]) for row in rows}
