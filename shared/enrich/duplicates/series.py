"""Series of what machines write: the same words again and again, within a day.

Rows of one source and pattern, in the order of their times; a gap of a day ends a
series. A series that grows in the middle joins two, one that shrinks there parts.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_one

GAP = timedelta(days=1)

_BEFORE: LiteralString = """
    SELECT series_id, at FROM likeness
     WHERE tenant = %(tenant)s AND source = %(source)s AND pattern = %(pattern)s
       AND (at, entry_id) < (%(at)s, %(entry_id)s) AND at > %(at)s - %(gap)s
     ORDER BY at DESC, entry_id DESC
     LIMIT 1"""
_BEHIND: LiteralString = """
    SELECT series_id, at FROM likeness
     WHERE tenant = %(tenant)s AND source = %(source)s AND pattern = %(pattern)s
       AND (at, entry_id) > (%(at)s, %(entry_id)s) AND at < %(at)s + %(gap)s
     ORDER BY at, entry_id
     LIMIT 1"""
_SIZES: LiteralString = """
    SELECT series_id FROM likeness
     WHERE tenant = %(tenant)s AND series_id = ANY(%(series)s)
     GROUP BY series_id
     ORDER BY count(*) DESC, series_id
     LIMIT 2"""
_MOVE: LiteralString = """
    UPDATE likeness SET series_id = %(larger)s
     WHERE tenant = %(tenant)s AND series_id = %(smaller)s
 RETURNING entry_id"""
_SPLIT_SIZES: LiteralString = """
    SELECT count(*) FILTER (WHERE at < %(at)s), count(*) FILTER (WHERE at >= %(at)s)
      FROM likeness
     WHERE tenant = %(tenant)s AND series_id = %(series_id)s"""
_MOVE_PART: LiteralString = """
    UPDATE likeness SET series_id = %(new)s
     WHERE tenant = %(tenant)s AND series_id = %(series_id)s
       AND (at < %(at)s) = %(earlier)s
 RETURNING entry_id"""


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """The place of an entry among machine-written ones of the same pattern."""

    tenant: str
    source: str
    pattern: bytes
    at: datetime
    entry_id: UUID


@dataclass(frozen=True, slots=True)
class _Next:
    series_id: UUID
    at: datetime


def join(conn: Connection, place: SeriesPlace) -> tuple[UUID, list[UUID]]:
    """Return the series for a row that is not there yet, and the entries that moved."""
    before, behind = _next(conn, _BEFORE, place), _next(conn, _BEHIND, place)
    ids = {one.series_id for one in (before, behind) if one is not None}
    one, *more = ids or {uuid7()}
    if not more:
        return one, []
    given: dict[str, Any] = {"tenant": place.tenant, "series": list(ids)}
    (larger,), (smaller,) = conn.execute(_SIZES, given).fetchall()
    given |= {"larger": larger, "smaller": smaller}
    return larger, [one for (one,) in conn.execute(_MOVE, given).fetchall()]


def leave(conn: Connection, place: SeriesPlace) -> list[UUID]:
    """Part the series that a row, gone by now, held together; who moved."""
    before, behind = _next(conn, _BEFORE, place), _next(conn, _BEHIND, place)
    if before is None or behind is None or behind.at - before.at < GAP:
        return []
    given: dict[str, Any] = {
        "tenant": place.tenant,
        "series_id": before.series_id,
        "at": behind.at,
        "new": uuid7(),
    }
    sizes = conn.execute(_SPLIT_SIZES, given).fetchone()
    earlier, later = sizes or (0, 0)
    given["earlier"] = earlier < later
    return [one for (one,) in conn.execute(_MOVE_PART, given).fetchall()]


def _next(conn: Connection, query: LiteralString, place: SeriesPlace) -> _Next | None:
    return fetch_one(conn, _Next, query, {**asdict(place), "gap": GAP})
