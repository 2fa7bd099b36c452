"""What is older than its source may be kept: a tombstone stays, and holds its place."""

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.entries import entry_links, reply_updates, tombstones
from shared.work import due_work as due

# The oldest first, and by key where they are locked.
_PAST: LiteralString = """
    SELECT e.id
      FROM entry e
     WHERE e.id IN (
           SELECT o.id FROM entry o
            WHERE o.tenant = %(tenant)s AND o.source = %(source)s
              AND o.deleted_at IS NULL
              AND o.entry_time < now() - make_interval(days => %(days)s)
            ORDER BY o.entry_time, o.id
            LIMIT %(limit)s)
       AND e.tenant = %(tenant)s AND e.deleted_at IS NULL
     ORDER BY e.id
       FOR NO KEY UPDATE OF e"""

# Behind those that were deleted before: to walk over them again and again would take
# longer each time.
_OF_SOURCE: LiteralString = """
    SELECT e.id
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND e.deleted_at IS NULL
       AND e.id > %(after)s
     ORDER BY e.id
     LIMIT %(limit)s
       FOR NO KEY UPDATE OF e"""


def delete_of_source(
    conn: Connection,
    tenant: str,
    source: str,
    *,
    stages: Sequence[str],
    limit: int,
    after: UUID,
) -> list[UUID]:
    """Delete entries of a removed source; a source that is added again restores them.

    Done when fewer than `limit` are returned. The work is bulk: nobody waits for it.
    """
    entry_links.share(conn, tenant, source)
    values = {"tenant": tenant, "source": source, "limit": limit, "after": after}
    found = [row[0] for row in conn.execute(_OF_SOURCE, values)]
    gone = tombstones.bury(conn, tenant, found, reason=tombstones.SOURCE_REMOVED)
    reply_updates.add_work_of_gone(conn, tenant, gone, stages, work_class=due.BULK)
    return gone


def expire(
    conn: Connection,
    tenant: str,
    source: str,
    *,
    days: int,
    stages: Sequence[str],
    limit: int,
) -> list[UUID]:
    """Delete entries older than so many days; their source cannot bring them back.

    Done when fewer than `limit` are returned. The work is bulk: nobody waits for it.
    """
    entry_links.share(conn, tenant, source)
    values = {"tenant": tenant, "source": source, "days": days, "limit": limit}
    past = [row[0] for row in conn.execute(_PAST, values)]
    gone = tombstones.bury(conn, tenant, past, reason=tombstones.RETENTION)
    reply_updates.add_work_of_gone(conn, tenant, gone, stages, work_class=due.BULK)
    return gone
