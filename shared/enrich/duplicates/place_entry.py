"""Put an entry among those like it, and have the index show what changed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich.duplicates import group_position, groups, series
from shared.enrich.duplicates.group_position import (
    BESIDE_IN_GROUP,
    BESIDE_IN_SERIES,
    GroupPosition,
    list_beside,
)
from shared.enrich.duplicates.series import SeriesPlace
from shared.enrich.duplicates.similarity import Shape, pattern_of, shape_of
from shared.entries import group_membership
from shared.messaging.stage_names import INDEX_STAGE
from shared.postgres.fetch_rows import fetch_one, fetch_value
from shared.work import due_work as due

SHOWN_AT_ONCE = 500

# The entry's row first, as everybody locks it first: an edit waits or is seen.
_LOCK_ENTRY: LiteralString = """
    SELECT revision, source, origin, entry_time AS at, deleted_at IS NOT NULL AS deleted
      FROM entry
     WHERE id = %(entry_id)s AND tenant = %(tenant)s
       FOR NO KEY UPDATE"""
_STREAM: LiteralString = """
    SELECT stream FROM entry_text
     WHERE entry_id = %(entry_id)s AND tenant = %(tenant)s
       AND revision = %(revision)s"""
_REMOVE: LiteralString = """
    DELETE FROM likeness WHERE entry_id = %(entry_id)s AND tenant = %(tenant)s"""
_GROUP: LiteralString = """
    SELECT group_id FROM shape WHERE tenant = %(tenant)s AND id = %(shape_id)s"""

_MOVED: LiteralString = """
    INSERT INTO regrouped (tenant, entry_id)
    SELECT %(tenant)s, moved.entry_id
      FROM (SELECT unnest(%(entries)s::uuid[]) AS entry_id
             UNION
            SELECT entry_id FROM likeness
             WHERE tenant = %(tenant)s AND shape_id = ANY(%(shapes)s)) AS moved
     WHERE moved.entry_id <> %(entry_id)s"""
_ANY_MOVED: LiteralString = """
    SELECT EXISTS (SELECT FROM regrouped WHERE tenant = %(tenant)s)"""
_TAKE_MOVED: LiteralString = """
    DELETE FROM regrouped
     WHERE id IN (SELECT id FROM regrouped
                   WHERE tenant = %(tenant)s
                   ORDER BY id
                   LIMIT %(limit)s
                     FOR UPDATE SKIP LOCKED)
 RETURNING entry_id"""
_SHOW_ANEW: LiteralString = """
    WITH shown AS MATERIALIZED (
        SELECT id FROM entry
         WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) AND deleted_at IS NULL
         ORDER BY id
           FOR NO KEY UPDATE)
    UPDATE entry e SET doc_version = e.doc_version + 1
      FROM shown
     WHERE e.id = shown.id AND e.tenant = %(tenant)s
 RETURNING e.id"""


@dataclass(frozen=True, slots=True)
class Placed:
    """Whether the placement changes what the entry's document shows, or others'."""

    own: bool = False
    others: bool = False


@dataclass(frozen=True, slots=True)
class _PlacedEntry:
    revision: int
    source: str
    origin: str
    at: datetime
    deleted: bool


@dataclass(frozen=True, slots=True)
class _Likeness:
    shape: Shape | None = None
    place: SeriesPlace | None = None

    def is_said_at(self, former: GroupPosition, was: SeriesPlace | None) -> bool:
        digest = self.shape.digest if self.shape else None
        return digest == former.digest and self.place == was


@dataclass(slots=True)
class _Moved:
    """Other entries and shapes whose group or series changed by this placement."""

    entries: list[UUID] = field(default_factory=list)
    shapes: list[UUID] = field(default_factory=list)

    def add_left_alone(self, *beside: list[UUID]) -> None:
        """Note an entry that has, or had, no other beside it: its display changes."""
        self.entries += [found[0] for found in beside if len(found) == 1]


def place(
    conn: Connection, tenant: str, entry_id: UUID, *, work_class: int = due.LIVE
) -> Placed:
    """Place an entry as it stands now; a deleted one loses its place. Idempotent.

    Nothing happens as long as its text is not analysed: that makes it due again.
    """
    key = {"entry_id": entry_id, "tenant": tenant}
    entry = fetch_one(conn, _PlacedEntry, _LOCK_ENTRY, key)
    said = _said(conn, tenant, entry_id, entry) if entry else None
    if entry is None or said is None:
        return Placed()
    group_membership.lock(conn, tenant)
    former = group_position.load_position(conn, tenant, entry_id)
    was = former.place(tenant, entry_id) if former else None
    if former is not None and not entry.deleted and said.is_said_at(former, was):
        # A run that died here may have left others to be shown.
        return Placed(others=bool(fetch_value(conn, _ANY_MOVED, key)))
    conn.execute(_REMOVE, key)
    moved = _Moved()
    series_id = _into_series(conn, former, was, said.place, moved)
    shape_id = None
    if said.shape is not None:
        shape_id, moved.shapes = groups.join(conn, tenant, said.shape)
    group_id = fetch_value(conn, _GROUP, {"tenant": tenant, "shape_id": shape_id})
    shown = _shown(conn, tenant, entry_id, group_id, series_id, moved)
    if not entry.deleted:
        values = {
            **key,
            "shape_id": shape_id,
            "source": entry.source,
            "pattern": said.place.pattern if said.place else None,
            "at": entry.at,
            "series_id": series_id,
        }
        group_position.store(conn, [values])
    was_shown: tuple[UUID | None, UUID | None] = (None, None)
    if former is not None:
        was_shown = _left(conn, tenant, entry_id, former, moved)
    if moved.entries or moved.shapes:
        conn.execute(_MOVED, {**key, "entries": moved.entries, "shapes": moved.shapes})
    if shown != was_shown:
        _show(conn, tenant, [entry_id], work_class)
    return Placed(shown != was_shown, bool(moved.entries or moved.shapes))


def show_moved(conn: Connection, tenant: str) -> list[UUID]:
    """Make the documents due of some entries that others have moved; who they are.

    In a transaction of its own: it locks many entries, in their order.
    """
    given = {"tenant": tenant, "limit": SHOWN_AT_ONCE}
    moved = {one for (one,) in conn.execute(_TAKE_MOVED, given).fetchall()}
    return _show(conn, tenant, sorted(moved), due.BULK) if moved else []


def _said(
    conn: Connection, tenant: str, entry_id: UUID, entry: _PlacedEntry
) -> _Likeness | None:
    """Return shape and series of the current revision; None if it is not analysed yet.

    Computed before the facility's groups are locked, because it takes time.
    """
    if entry.deleted:
        return _Likeness()
    key = {"entry_id": entry_id, "tenant": tenant, "revision": entry.revision}
    row = conn.execute(_STREAM, key).fetchone()
    if row is None:
        return None
    pattern = pattern_of(row[0]) if entry.origin == "machine" else None
    there = pattern and SeriesPlace(tenant, entry.source, pattern, entry.at, entry_id)
    return _Likeness(shape_of(row[0]), there or None)


def _into_series(
    conn: Connection,
    former: GroupPosition | None,
    was: SeriesPlace | None,
    there: SeriesPlace | None,
    moved: _Moved,
) -> UUID | None:
    """Return the entry's series as of now, joining or leaving one where needed."""
    if former is not None and there == was:
        return former.series_id
    if was is not None:
        moved.entries += series.leave(conn, was)
    if there is None:
        return None
    series_id, others = series.join(conn, there)
    moved.entries += others
    return series_id


def _shown(
    conn: Connection,
    tenant: str,
    entry_id: UUID,
    group_id: UUID | None,
    series_id: UUID | None,
    moved: _Moved,
) -> tuple[UUID | None, UUID | None]:
    """Return group and series as shown: none where no other entry is in them."""
    group = list_beside(conn, BESIDE_IN_GROUP, tenant, entry_id, group_id, moved.shapes)
    line = list_beside(
        conn, BESIDE_IN_SERIES, tenant, entry_id, series_id, moved.entries
    )
    in_group, in_line = bool(group or moved.shapes), bool(line or moved.entries)
    moved.add_left_alone(group, line)
    return (group_id if in_group else None), (series_id if in_line else None)


def _left(
    conn: Connection, tenant: str, entry_id: UUID, former: GroupPosition, moved: _Moved
) -> tuple[UUID | None, UUID | None]:
    """Take the entry out of its former group; return group and series shown before."""
    parted: list[UUID] = []
    if former.shape_id is not None:
        parted = groups.leave(conn, tenant, former.shape_id)
        moved.shapes += parted
    group = list_beside(conn, BESIDE_IN_GROUP, tenant, entry_id, former.group_id)
    line = list_beside(conn, BESIDE_IN_SERIES, tenant, entry_id, former.series_id)
    moved.add_left_alone(group, line)
    return (
        former.group_id if group or parted else None,
        former.series_id if line else None,
    )


def _show(
    conn: Connection, tenant: str, ids: list[UUID], work_class: int
) -> list[UUID]:
    shown = conn.execute(_SHOW_ANEW, {"tenant": tenant, "ids": ids}).fetchall()
    found = sorted(one for (one,) in shown)
    due.add(conn, tenant, found, [INDEX_STAGE], work_class=work_class)
    return found
