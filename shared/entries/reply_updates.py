"""A reply shows its parent to whoever may see that: who may is news of it, too."""

from collections.abc import Iterable, Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.work import due_work as due

# Their stages: what a reply is about may be said by what it replies to.
VECTORS = "embed:"
_TO: LiteralString = """
    SELECT DISTINCT l.entry_id
      FROM entry p
      JOIN entry_link l ON l.tenant = p.tenant AND l.source = p.source
                       AND l.target = p.external_id AND l.kind = 'reply'
     WHERE p.tenant = %(tenant)s AND p.id = ANY(%(parents)s)
     ORDER BY l.entry_id
     LIMIT 1000000"""
# What is new in this transaction, or deleted, stays so.
_TELL: LiteralString = """
    UPDATE entry e
       SET change = CASE WHEN e.changed_xid = pg_current_xact_id()
                           OR e.deleted_at IS NOT NULL
                         THEN e.change ELSE 'access' END,
           changed_xid = pg_current_xact_id()
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s)"""


def to(conn: Connection, tenant: str, parents: Iterable[UUID]) -> list[UUID]:
    """Return the entries that reply to these, in order of their ids."""
    values = {"tenant": tenant, "parents": sorted(parents)}
    if not values["parents"]:
        return []
    return [row[0] for row in conn.execute(_TO, values)]


def add_work_of_gone(
    conn: Connection,
    tenant: str,
    gone: Sequence[UUID],
    stages: Sequence[str],
    *,
    work_class: int = due.LIVE,
) -> None:
    """Make the removal of deleted entries' derived data due, in their replies too."""
    answers = to(conn, tenant, gone)
    # Stage by stage, as a page does: it may lock what replies just now.
    for stage in stages:
        ids = {*gone, *answers} if stage.startswith(VECTORS) else gone
        due.add(conn, tenant, ids, [stage], work_class=work_class)


def tell_anew(conn: Connection, tenant: str, ids: Sequence[UUID]) -> None:
    """Put entries into the change feed again, without a new revision.

    The caller has locked them.
    """
    if ids:
        conn.execute(_TELL, {"tenant": tenant, "ids": list(ids)})
