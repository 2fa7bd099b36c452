"""Finds entries that the index may still show though the caller may not see them."""

from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection, Cursor

from shared.access import rights
from shared.access.scope import Scope

# Each id is a clause of the query; more of them are left out after the search.
MAX_IDS = 1000

# Reads deleted entries, and those closed to somebody or under an embargo, of which the
# index may not know: written since its watermark, or quarantined on their way to it.
_SINCE: LiteralString = f"""
    WITH unheard AS (
        SELECT e.id, e.modified_at, e.deleted_at, e.logbooks, e.readers, e.visible_from
          FROM entry e
         WHERE e.tenant = %(tenant)s AND e.modified_at >= %(since)s
           AND (e.deleted_at IS NOT NULL OR e.past_readers <> '{{}}')
         UNION
        SELECT e.id, e.modified_at, e.deleted_at, e.logbooks, e.readers, e.visible_from
          FROM quarantine q
          JOIN entry e ON e.id = q.entry_id AND e.tenant = %(tenant)s
         WHERE q.tenant = %(tenant)s AND q.stage IN ('metadata', 'index'))
    SELECT u.id
      FROM unheard u
     WHERE NOT (u.deleted_at IS NULL{rights.seen("u")})
     ORDER BY u.modified_at DESC, u.id
     LIMIT %(most)s"""


def load_revoked(
    conn: Connection, scope: Scope, watermark: datetime, most: int = MAX_IDS
) -> list[UUID]:
    """Return entries that the index may still show to a caller without the right."""
    return [row[0] for row in send_revoked(conn, scope, watermark, most)]


def send_revoked(
    conn: Connection, scope: Scope, watermark: datetime, most: int = MAX_IDS
) -> Cursor:
    """Send the statement; its rows are read from the cursor, and may be read later."""
    values = {**scope.params, "since": watermark, "most": most}
    return conn.execute(_SINCE, values, prepare=True)
