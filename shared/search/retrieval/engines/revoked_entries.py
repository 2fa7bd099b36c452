"""What the index may still show although the caller may not see it any more."""

from __future__ import annotations

from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.rows import TupleRow

from shared.access import rights
from shared.access.scope import Scope

# More than these are told apart after the search: each is a clause of the query.
MAX_IDS = 1000

# Of what was ever deleted or closed to somebody, be it under an embargo, all that the
# index has perhaps not heard of: written since its watermark, or put aside on its way.
_SINCE: LiteralString = (
    """
    WITH unheard AS (
        SELECT e.id, e.modified_at, e.deleted_at, e.logbooks, e.readers, e.visible_from
          FROM entry e
         WHERE e.tenant = %(tenant)s AND e.modified_at >= %(since)s
           AND (e.deleted_at IS NOT NULL OR e.past_readers <> '{}')
         UNION
        SELECT e.id, e.modified_at, e.deleted_at, e.logbooks, e.readers, e.visible_from
          FROM quarantine q
          JOIN entry e ON e.id = q.entry_id AND e.tenant = %(tenant)s
         WHERE q.tenant = %(tenant)s AND q.stage IN ('metadata', 'index'))
    SELECT u.id
      FROM unheard u
     WHERE NOT (u.deleted_at IS NULL"""
    + rights.seen("u")
    + """)
     ORDER BY u.modified_at DESC, u.id
     LIMIT %(most)s"""
)


def load_revoked(
    conn: Connection[Any], scope: Scope, watermark: datetime, most: int = MAX_IDS
) -> list[UUID]:
    """Return what the caller lost since the index was up to date, the newest first."""
    return [row[0] for row in send_revoked(conn, scope, watermark, most)]


def send_revoked(
    conn: Connection[Any], scope: Scope, watermark: datetime, most: int = MAX_IDS
) -> Cursor[TupleRow]:
    """Send the statement; its rows are read from the cursor, and may be read later."""
    values = {**scope.params, "since": watermark, "most": most}
    return conn.execute(_SINCE, values, prepare=True)
