"""What an entry replies to: its title and how it begins, for who reads the reply."""

from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights

# The excerpt is embedded with the reply, so a parent that some reader of the reply
# may not see gives none: search would find the reply by the parent's words.
_ANSWERED: LiteralString = f"""
    SELECT r.title, left(coalesce(r.plain, r.text), 400)
      FROM entry e
      JOIN entry_link l ON l.entry_id = e.id AND l.kind = 'reply'
      JOIN entry p ON p.tenant = l.tenant AND p.source = l.source
                  AND p.external_id = l.target
      JOIN revision r ON r.entry_id = p.id AND r.number = p.revision
     WHERE e.tenant = %(tenant)s AND e.id = %(entry_id)s
       AND p.tenant = %(tenant)s AND p.deleted_at IS NULL{rights.as_open("p", "e")}
     ORDER BY p.id
     LIMIT 1"""


def to(conn: Connection, tenant: str, entry_id: UUID) -> tuple[str, str] | None:
    """Return title and beginning of the parent; None: not open to all readers."""
    row = conn.execute(_ANSWERED, {"tenant": tenant, "entry_id": entry_id}).fetchone()
    return None if row is None else (str(row[0]), str(row[1]))
