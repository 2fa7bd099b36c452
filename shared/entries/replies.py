"""A reply shows its parent to whoever may see that: who may is news of it, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

# What was in other logbooks once may be told again for nothing; never the other way.
_TELL: LiteralString = """
    UPDATE entry e
       SET change = CASE WHEN e.changed_xid = pg_current_xact_id()
                           OR e.deleted_at IS NOT NULL
                         THEN e.change ELSE 'access' END,
           changed_xid = pg_current_xact_id()
      FROM (SELECT r.id
              FROM entry p
              JOIN entry_link l ON l.tenant = p.tenant AND l.source = p.source
                               AND l.target = p.external_id AND l.kind = 'reply'
              JOIN entry r ON r.id = l.entry_id
             WHERE p.tenant = %(tenant)s AND p.id = ANY(%(parents)s)
               AND (p.change = 'access' OR NOT p.past_logbooks <@ p.logbooks)
             ORDER BY r.id
               FOR NO KEY UPDATE OF r) AS replies
     WHERE e.id = replies.id AND e.tenant = %(tenant)s"""


def tell_anew(conn: Connection[TupleRow], tenant: str, parents: Iterable[UUID]) -> None:
    """Have the replies told again of those of these whose readers are others now.

    The parents were written in this transaction, and their source is ours alone
    meanwhile (`links.lock`). It is no revision.
    """
    ids = sorted(parents)
    if ids:
        conn.execute(_TELL, {"tenant": tenant, "parents": ids})
