"""Groups of near-duplicates: texts joined by what they share, kept as they change.

A shape is the text of any number of entries that say the same; shapes that are alike
are linked, and what links join is a group. One entry at a time of a tenant is placed:
two copies that came together would not see each other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich.duplicates import candidates, similarity
from shared.enrich.duplicates.candidates import KnownShape
from shared.enrich.duplicates.similarity import Shape
from shared.ids import uuid7
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array

log = get_logger()

# A thousand copies that differ a little would each be compared with all others: once
# one is found nobody looks further.
_CANDIDATES, _MAX_CANDIDATES, _MAX_LINKS = 256, 4096, 16
# A larger group stays together when one of its shapes goes.
_MAX_REGROUPED = 2000

_KNOWN: LiteralString = """
    SELECT id, group_id, runs, marks, bands FROM shape
     WHERE tenant = %(tenant)s AND digest = %(digest)s"""
_SIZES: LiteralString = """
    SELECT group_id FROM shape
     WHERE tenant = %(tenant)s AND group_id = ANY(%(groups)s)
     GROUP BY group_id
     ORDER BY count(*) DESC, group_id
     LIMIT 1000"""
_MOVE_GROUPS: LiteralString = """
    UPDATE shape SET group_id = %(group_id)s
     WHERE tenant = %(tenant)s AND group_id = ANY(%(groups)s)
 RETURNING id"""
_MOVE_SHAPES: LiteralString = """
    UPDATE shape SET group_id = %(group_id)s
     WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"""
_INSERT: LiteralString = """
    INSERT INTO shape (id, tenant, digest, bands, runs, marks, group_id)
    VALUES (%(id)s, %(tenant)s, %(digest)s, %(bands)s::bigint[],
            %(runs)s::integer[], %(marks)s::integer[], %(group_id)s)"""
_LINK: LiteralString = """
    INSERT INTO shape_link (tenant, one, other)
    SELECT %(tenant)s, least(%(id)s, o.id), greatest(%(id)s, o.id)
      FROM unnest(%(others)s::uuid[]) AS o (id)
        ON CONFLICT DO NOTHING"""

_IS_USED: LiteralString = """
    SELECT EXISTS (SELECT FROM likeness
                    WHERE tenant = %(tenant)s AND shape_id = %(id)s)"""
_NEIGHBOURS: LiteralString = """
    SELECT s.id, s.group_id, s.runs, s.marks, s.bands
      FROM shape_link l
      JOIN shape s ON s.id = CASE WHEN l.one = %(id)s THEN l.other ELSE l.one END
     WHERE l.tenant = %(tenant)s AND s.tenant = %(tenant)s
       AND (l.one = %(id)s OR l.other = %(id)s)
     ORDER BY s.id
     LIMIT 1000"""
_DELETE: LiteralString = """
    DELETE FROM shape WHERE tenant = %(tenant)s AND id = %(id)s RETURNING group_id"""
_MEMBERS: LiteralString = """
    SELECT id FROM shape
     WHERE tenant = %(tenant)s AND group_id = %(group_id)s
     ORDER BY id
     LIMIT %(limit)s"""
_LINKS: LiteralString = """
    SELECT l.one, l.other
      FROM shape s
      JOIN shape_link l ON l.one = s.id
     WHERE s.tenant = %(tenant)s AND l.tenant = %(tenant)s
       AND s.group_id = %(group_id)s
     LIMIT 100000"""


def join(conn: Connection, tenant: str, shape: Shape) -> tuple[UUID, list[UUID]]:
    """Return the row of this shape, new or known, and the shapes that moved for it."""
    known = _read(conn, _KNOWN, {"tenant": tenant, "digest": shape.digest})
    if known:
        return known[0].id, []
    new = uuid7()
    alike = _alike(conn, tenant, new, shape)
    group_id, moved = _joined(conn, tenant, {one.group_id for one in alike})
    conn.execute(_INSERT, _row(tenant, new, group_id, shape))
    _link(conn, tenant, new, alike)
    return new, moved


def add_alone(conn: Connection, tenant: str, shapes: Sequence[Shape]) -> list[UUID]:
    """Make a row and a group for each shape, which is alike to none; their rows."""
    ids = [uuid7() for _ in shapes]
    rows = [
        _row(tenant, shape_id, uuid7(), shape)
        for shape_id, shape in zip(ids, shapes, strict=True)
    ]
    with conn.cursor() as cur:
        cur.executemany(_INSERT, rows)
    return ids


def _row(tenant: str, shape_id: UUID, group_id: UUID, shape: Shape) -> dict[str, Any]:
    return {
        "id": shape_id,
        "tenant": tenant,
        "digest": shape.digest,
        "bands": format_array(shape.bands),
        "runs": format_array(shape.runs),
        "marks": format_array(shape.marks),
        "group_id": group_id,
    }


def leave(conn: Connection, tenant: str, shape_id: UUID) -> list[UUID]:
    """Forget a shape that no entry has any more; return the shapes that moved."""
    named = {"tenant": tenant, "id": shape_id}
    used = conn.execute(_IS_USED, named).fetchone()
    if used is None or used[0]:
        return []
    neighbours = _read(conn, _NEIGHBOURS, named)
    gone = conn.execute(_DELETE, named).fetchone()
    if gone is None or not neighbours[1:]:
        # Nothing was joined by it.
        return []
    for one in neighbours:
        # Not every pair that is alike was linked: this one may have stood for others.
        _link(conn, tenant, one.id, _alike(conn, tenant, one.id, one.shape))
    return _parted(conn, tenant, gone[0])


def _alike(
    conn: Connection, tenant: str, shape_id: UUID, shape: Shape
) -> list[KnownShape]:
    for skip in range(0, _MAX_CANDIDATES, _CANDIDATES):
        (page,) = candidates.find_candidates(
            conn, tenant, [shape], limit=_CANDIDATES, skip=skip
        )
        others = [one for one in page if one.id != shape_id]
        found = [one for one in others if similarity.are_alike(shape, one.shape)]
        if found or len(page) < _CANDIDATES:
            return found
    log.warning("shape_like_too_many", shape_id=str(shape_id), tenant=tenant)
    return []


def _joined(
    conn: Connection, tenant: str, groups: set[UUID]
) -> tuple[UUID, list[UUID]]:
    """Merge groups into the largest one; the shapes of the others move."""
    one, *more = groups or {uuid7()}
    if not more:
        return one, []
    given: dict[str, Any] = {"tenant": tenant, "groups": list(groups)}
    (largest,), *others = conn.execute(_SIZES, given).fetchall()
    given = {
        "tenant": tenant,
        "groups": [one for (one,) in others],
        "group_id": largest,
    }
    moved = conn.execute(_MOVE_GROUPS, given).fetchall()
    return largest, [shape_id for (shape_id,) in moved]


def _link(
    conn: Connection, tenant: str, shape_id: UUID, alike: Sequence[KnownShape]
) -> None:
    """Link a shape to some of those alike, and to one of each group among them."""
    of_groups = {one.group_id: one.id for one in alike}
    others = {*of_groups.values(), *(one.id for one in alike[:_MAX_LINKS])}
    if others:
        given = {"tenant": tenant, "id": shape_id, "others": sorted(others)}
        conn.execute(_LINK, given)


def _parted(conn: Connection, tenant: str, group_id: UUID) -> list[UUID]:
    """Give what links no longer join a group of its own; the largest part stays."""
    given = {"tenant": tenant, "group_id": group_id, "limit": _MAX_REGROUPED + 1}
    members = [one for (one,) in conn.execute(_MEMBERS, given).fetchall()]
    if len(members) > _MAX_REGROUPED:
        log.warning("group_not_parted", group_id=str(group_id), tenant=tenant)
        return []
    links = conn.execute(_LINKS, given).fetchall()
    _, *others = sorted(_parts(members, links), key=len, reverse=True)
    for part in others:
        given = {"tenant": tenant, "group_id": uuid7(), "ids": part}
        conn.execute(_MOVE_SHAPES, given)
    return [one for part in others for one in part]


def _parts(
    members: Iterable[UUID], links: Iterable[tuple[UUID, ...]]
) -> list[list[UUID]]:
    """Return the members in parts, each joined by links."""
    near: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for one, other in links:
        near[one].append(other)
        near[other].append(one)
    left, parts = dict.fromkeys(members), []
    while left:
        part, ahead = [], [left.popitem()[0]]
        while ahead:
            one = ahead.pop()
            part.append(one)
            ahead += (other for other in near[one] if left.pop(other, 0) is None)
        parts.append(part)
    return parts


def _read(
    conn: Connection, query: LiteralString, given: dict[str, Any]
) -> list[KnownShape]:
    # In the wire's own form lists of numbers are read in half the time.
    return fetch_all(conn, KnownShape, query, given, binary=True)
