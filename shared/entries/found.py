"""What stages have found in an entry, as its readers are shown it."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

# Places are those of the text that it was found in: of another revision, none is shown.
_OF_ENTRY: LiteralString = """
    SELECT f.stage, f.found
      FROM entry_finding f
     WHERE f.entry_id = %(entry_id)s AND f.tenant = %(tenant)s
       AND f.revision = %(revision)s AND f.found <> '[]'
     ORDER BY f.stage
     LIMIT 100"""


def of_entry(
    conn: Connection[TupleRow], tenant: str, entry_id: UUID, revision: int
) -> dict[str, list[dict[str, Any]]]:
    """Return what each stage has found in one revision of an entry, by stage."""
    given = {"tenant": tenant, "entry_id": entry_id, "revision": revision}
    return dict(conn.execute(_OF_ENTRY, given).fetchall())
