"""How many entries of a caller there are, and how many of them the index lacks."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.access import rights
from shared.access.scope import Scope

# From what is due and quarantined, so it costs what waits and not what there is.
_LACKING: LiteralString = (
    """
    SELECT count(*)
      FROM (SELECT entry_id FROM work
             WHERE stage IN ('metadata', 'index') AND tenant = %(tenant)s
             UNION
            SELECT entry_id FROM quarantine
             WHERE stage = 'index' AND tenant = %(tenant)s) AS lacking
      JOIN entry e ON e.id = lacking.entry_id
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL"""
    + rights.SEEN
)


def lacking(conn: Connection[TupleRow], scope: Scope) -> int:
    """Return how many of the caller's entries the index has not, or not as they are."""
    row = conn.execute(_LACKING, scope.params).fetchone()
    return int(row[0]) if row else 0
