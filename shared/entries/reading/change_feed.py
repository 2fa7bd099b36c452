"""What changed, in an order without gaps, for whoever keeps a copy.

A change is told once every transaction that began before it has ended: what commits
late would else come before what was told already. Of several changes of an entry the
latest is told, and with it all of them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.fetch_rows import fetch_all, fetch_value

# So many are looked at in one statement, whoever may see them: a caller who sees one in
# a million is answered in time, too.
_LOOKED_AT = 1000

# A restored backup counts its transactions anew: whatever was told before is over.
# Older than `before` is no transaction that may still change something.
_NOW: LiteralString = """
    SELECT epoch, now(), pg_snapshot_xmin(pg_current_snapshot())::text
      FROM installation"""
_BEGIN = UUID(int=0)

# Up to when a page looks for what may be seen by now; nothing: all of it is looked at.
_UNTIL: LiteralString = """
    SELECT max(next.visible_from)
      FROM (SELECT e.visible_from
              FROM entry e
             WHERE e.tenant = %(tenant)s
               AND e.visible_from > %(at)s AND e.visible_from <= now()
             ORDER BY e.visible_from
             LIMIT %(looked_at)s) AS next
    HAVING count(*) = %(looked_at)s"""

# What the caller was not told because its time had not come; nobody writes when it has.
# Those of one moment come together, so that the moment is a place. Their replies show
# them as parents from then on.
_UNVEILED: LiteralString = f"""
    SELECT e.changed_xid::text AS xid, e.id AS entry_id, e.source, e.external_id,
           e.revision, 'access' AS change, e.visible_from AS changed_at,
           true AS visible, false AS was_visible
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND e.visible_from > %(at)s AND e.visible_from <= %(until)s
       AND (e.changed_xid, e.id) <= (%(xid)s::text::xid8, %(id)s::uuid){rights.SEEN}
     UNION
    SELECT r.changed_xid::text, r.id, r.source, r.external_id, r.revision, 'access',
           e.visible_from, true, false
      FROM entry e
      JOIN entry_link l ON l.tenant = e.tenant AND l.source = e.source
                       AND l.target = e.external_id AND l.kind = 'reply'
      JOIN entry r ON r.id = l.entry_id
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND e.visible_from > %(at)s AND e.visible_from <= %(until)s{rights.SEEN}
       AND r.tenant = %(tenant)s AND r.deleted_at IS NULL
       AND (r.changed_xid, r.id) <= (%(xid)s::text::xid8, %(id)s::uuid)
           {rights.seen("r")}
     ORDER BY changed_at
     FETCH FIRST %(limit)s ROWS WITH TIES"""

_SINCE: LiteralString = f"""
    WITH looked_at AS MATERIALIZED (
        (SELECT e.changed_xid AS xid, e.id
           FROM entry e
          WHERE e.tenant = %(tenant)s
            AND (e.changed_xid, e.id) > (%(xid)s::text::xid8, %(id)s::uuid)
            AND e.changed_xid < %(before)s::text::xid8
          ORDER BY e.changed_xid, e.id
          LIMIT %(looked_at)s)
        UNION ALL
        (SELECT p.changed_xid, p.entry_id
           FROM purged p
          WHERE p.tenant = %(tenant)s AND p.entry_id IS NOT NULL
            AND (p.changed_xid, p.entry_id) > (%(xid)s::text::xid8, %(id)s::uuid)
            AND p.changed_xid < %(before)s::text::xid8
          ORDER BY p.changed_xid, p.entry_id
          LIMIT %(looked_at)s)
         ORDER BY 1, 2
         LIMIT %(looked_at)s)
    SELECT t.xid::text AS xid, t.entry_id, t.source, t.external_id, t.revision,
           t.change, t.changed_at, t.visible, t.was_visible
      FROM (
    SELECT l.xid, e.id, e.source, e.external_id, e.revision, e.change, e.modified_at,
           e.deleted_at IS NULL{rights.SEEN},
           -- Until it was deleted, or until it was closed to the caller.
           (e.deleted_at IS NOT NULL{rights.SEEN})
           OR ((%(logbooks)s::text[] IS NULL OR e.past_logbooks && %(logbooks)s)
               AND ('*' = ANY(e.past_readers)
                    OR e.past_readers && %(principals)s::text[]))
      FROM looked_at l
      JOIN entry e ON e.id = l.id AND e.tenant = %(tenant)s
     UNION ALL
    SELECT l.xid, p.entry_id, p.source, p.external_id, p.revision, 'deleted',
           p.purged_at, false,
           (%(logbooks)s::text[] IS NULL OR p.logbooks && %(logbooks)s)
           AND ('*' = ANY(p.readers) OR p.readers && %(principals)s::text[])
      FROM looked_at l
      JOIN purged p ON p.tenant = %(tenant)s AND p.changed_xid = l.xid
                   AND p.entry_id = l.id
      ) AS t (xid, entry_id, source, external_id, revision, change, changed_at, visible,
              was_visible)
     ORDER BY t.xid, t.entry_id
     LIMIT %(looked_at)s"""


class FeedPosition(NamedTuple):
    """How far a reader of the feed has come; it stays valid after restarts."""

    epoch: int = 0
    # The last transaction, as text: it has more digits than a JSON number keeps.
    xid: str = "0"
    entry_id: UUID = _BEGIN
    # Up to when entries were told whose time to be seen had come.
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A changed entry; to a caller who may no longer see it, it is deleted."""

    xid: str
    entry_id: UUID
    source: str
    external_id: str
    revision: int
    change: str
    changed_at: datetime
    visible: bool
    was_visible: bool

    @property
    def told_as(self) -> str:
        """Return the kind of change as told: a hidden entry counts as deleted."""
        return self.change if self.visible else "deleted"


class FeedPage(NamedTuple):
    """Some changes, where they end, and whether there may be more behind them."""

    changes: list[Change]
    place: FeedPosition
    more: bool


def list_changes(
    conn: Connection, scope: Scope, after: FeedPosition, *, limit: int
) -> FeedPage:
    """Return the changes behind a place, as far as the caller is concerned.

    There may be none although more follow: what was looked at concerned others.
    """
    row = conn.execute(_NOW).fetchone()
    epoch, now, before = row or (0, None, "0")
    place = after if after.epoch == epoch else FeedPosition(epoch)
    told: list[Change] = []
    if place.at is not None and now is not None:
        values = {"tenant": scope.tenant, "at": place.at, "looked_at": _LOOKED_AT}
        until = fetch_value(conn, _UNTIL, values)
        values = {**scope.params, **_params(place), "until": until or now}
        told = fetch_all(conn, Change, _UNVEILED, {**values, "limit": limit})
        if len(told) >= limit:
            return FeedPage(told, place._replace(at=told[-1].changed_at), more=True)
        if until is not None:
            return FeedPage(told, place._replace(at=until), more=True)
    place = place._replace(at=now)
    values = {**scope.params, **_params(place), "before": before}
    found = fetch_all(conn, Change, _SINCE, {**values, "looked_at": _LOOKED_AT})
    for one in found:
        if len(told) >= limit:
            return FeedPage(told, place, more=True)
        # No place is that of an entry which the caller is not told of: it can be read.
        if one.visible or one.was_visible:
            place = place._replace(xid=one.xid, entry_id=one.entry_id)
            told.append(one)
    if len(found) < _LOOKED_AT:
        place = place._replace(xid=before, entry_id=_BEGIN)
        return FeedPage(told, place, more=False)
    if not told:
        last = found[-1]
        is_one = found[0].xid == last.xid
        place = place._replace(
            xid=last.xid, entry_id=last.entry_id if is_one else _BEGIN
        )
    return FeedPage(told, place, more=True)


def _params(place: FeedPosition) -> dict[str, Any]:
    return {"xid": place.xid, "id": place.entry_id, "at": place.at}
