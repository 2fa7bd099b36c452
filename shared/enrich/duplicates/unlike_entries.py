"""Entries that are new and like nobody, many at once: most entries are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich.duplicates import candidates, group_position, groups, similarity
from shared.enrich.duplicates.candidates import KnownShape
from shared.enrich.duplicates.similarity import Shape, shape_of
from shared.entries import group_membership
from shared.postgres.fetch_rows import fetch_all

# In the order in which everybody locks several.
_LOCK_ENTRIES: LiteralString = """
    SELECT e.id, e.source, e.entry_time AS at, t.stream,
           e.deleted_at IS NULL AND e.origin <> 'machine'
           AND t.stream IS NOT NULL AS is_candidate
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = e.tenant
                            AND t.revision = e.revision
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s)
     ORDER BY e.id
       FOR NO KEY UPDATE OF e"""
# Whoever may be like so many is placed by itself.
_CANDIDATES = 32
_HAVE_A_PLACE: LiteralString = """
    SELECT entry_id FROM likeness
     WHERE tenant = %(tenant)s AND entry_id = ANY(%(ids)s)"""


@dataclass(frozen=True, slots=True)
class _UnlikeEntry:
    id: UUID
    source: str
    at: datetime
    stream: str | None
    is_candidate: bool


def place(conn: Connection, tenant: str, ids: Sequence[UUID]) -> set[UUID]:
    """Place new entries by people that are like no other; return their ids.

    The others are placed one by one, against each other too.
    """
    named: dict[str, Any] = {"tenant": tenant, "ids": list(ids)}
    entries = fetch_all(conn, _UnlikeEntry, _LOCK_ENTRIES, named)
    # What takes time, before others have to wait.
    new = [(one, shape_of(one.stream or "")) for one in entries if one.is_candidate]
    group_membership.lock(conn, tenant)
    placed = {one for (one,) in conn.execute(_HAVE_A_PLACE, named).fetchall()}
    alone = _alone(conn, tenant, [pair for pair in new if pair[0].id not in placed])
    shapes = [shape for _, shape in alone if shape is not None]
    made = iter(groups.add_alone(conn, tenant, shapes))
    rows = [
        {
            "entry_id": one.id,
            "tenant": tenant,
            "shape_id": None if shape is None else next(made),
            "source": one.source,
            "pattern": None,
            "at": one.at,
            "series_id": None,
        }
        for one, shape in alone
    ]
    group_position.store(conn, rows)
    return {one.id for one, _ in alone}


def _alone(
    conn: Connection, tenant: str, new: list[tuple[_UnlikeEntry, Shape | None]]
) -> list[tuple[_UnlikeEntry, Shape | None]]:
    """Return the entries that are surely like no other, nor like one another."""
    shapes = [shape for _, shape in new if shape is not None]
    kept = iter(candidates.find_candidates(conn, tenant, shapes, limit=_CANDIDATES))
    near: defaultdict[int, list[Shape]] = defaultdict(list)
    found: list[tuple[_UnlikeEntry, Shape | None]] = []
    for one, shape in new:
        if shape is None:
            found.append((one, shape))
            continue
        others = next(kept)
        if len(others) == _CANDIDATES or _has_its_like(near, others, shape):
            continue
        found.append((one, shape))
        for band in shape.bands:
            near[band].append(shape)
    return found


def _has_its_like(
    near: Mapping[int, list[Shape]], kept: Sequence[KnownShape], shape: Shape
) -> bool:
    beside = {id(one): one for band in shape.bands for one in near.get(band, ())}
    others = chain(beside.values(), (one.shape for one in kept))
    return any(similarity.are_alike(shape, one) for one in others)
