"""The nearest to a vector: by the index of a model's table, or by reading them all."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import numpy as np
from psycopg import Connection, sql
from psycopg.rows import TupleRow, class_row

from shared.access import rights
from shared.access.scope import Scope
from shared.embedding.encoders import Vectors
from shared.embedding.sizes import EXACT_ROWS, Sizes
from shared.entries.narrowing import ANYTHING, narrowed_by, narrows

# Of a hundred thousand notes that are much alike, 100 found .96 of the nearest ten, and
# .2 of those of one question; 200 found .996 and .8, in a millisecond more.
MIN_EF_SEARCH, MAX_EF_SEARCH = 200, 1_000
# How often the page of chunks grows fourfold when long entries fill it.
MAX_ROUNDS = 4


@dataclass(frozen=True)
class Near:
    """An entry by its chunk nearest to a question."""

    entry_id: UUID
    chunk: int
    revision: int
    start_at: int
    end_at: int
    cosine: float
    source: str
    kind: str
    origin: str
    entry_time: datetime
    external_id: str
    # Of the entry as it is now; `revision` is the one that the vector was made of.
    current: int


@dataclass(frozen=True)
class _NearOfFew(Near):
    """One of a page, beside the least cosine of all that were read for it."""

    farthest: float


@dataclass(frozen=True)
class _NearOfSome(Near):
    """One of a page, beside how many were read for it."""

    passing: int


_Row = TypeVar("_Row", bound=Near)

TUNE: LiteralString = """
    SELECT set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.iterative_scan', 'relaxed_order', true)"""

_NEAREST: LiteralString = (
    """
    SELECT n.entry_id, n.chunk, n.revision, n.start_at, n.end_at,
           1 - n.distance AS cosine, n.source, n.kind, n.origin, n.entry_time,
           n.external_id, n.current{counted}
      FROM (SELECT v.entry_id, v.chunk, v.revision, v.start_at, v.end_at,
                   v.embedding <=> %(vector)s::halfvec AS distance,
                   e.source, e.kind, e.origin, e.entry_time, e.external_id,
                   e.revision AS current
              FROM {table} AS v
              JOIN entry AS e ON e.id = v.entry_id
             WHERE v.tenant = %(tenant)s AND e.tenant = %(tenant)s
               AND e.deleted_at IS NULL"""
    + rights.SEEN
    + """
             {narrowed}
             {order}) AS n
     ORDER BY n.distance, n.kind, n.entry_id, n.chunk
     LIMIT %(page)s"""
)

# Of few vectors the nearest are found without their entries, and only theirs are read,
# one by one; `farthest` is up to where all that the caller may see have been read.
# Behind the fence each distance is computed once: to order by it `+ 0`, it is twice.
_NEAREST_OF_FEW: LiteralString = (
    """
    SELECT n.entry_id, n.chunk, n.revision, n.start_at, n.end_at,
           1 - n.distance AS cosine, e.source, e.kind, e.origin, e.entry_time,
           e.external_id, e.revision AS current,
           1 - max(n.distance) OVER () AS farthest
      FROM (SELECT o.entry_id, o.chunk, o.revision, o.start_at, o.end_at, o.distance
              FROM (SELECT v.entry_id, v.chunk, v.revision, v.start_at, v.end_at,
                           v.embedding <=> %(vector)s::halfvec AS distance
                      FROM {table} AS v
                     WHERE v.tenant = %(tenant)s
                    OFFSET 0) AS o
             ORDER BY o.distance
             LIMIT %(ahead)s) AS n
     CROSS JOIN LATERAL (
           SELECT e.source, e.kind, e.origin, e.entry_time, e.external_id, e.revision
             FROM entry AS e
            WHERE e.id = n.entry_id AND e.tenant = %(tenant)s
              AND e.deleted_at IS NULL"""
    + rights.SEEN
    + """
            LIMIT 1) AS e
     ORDER BY n.distance, e.kind, n.entry_id, n.chunk
     LIMIT %(page)s"""
)
# So many pages of vectors, for one of entries: some nobody may see, or not this caller.
_AHEAD = 3

# A second key would switch the index off: ties are broken outside.
_BY_INDEX: LiteralString = """
    ORDER BY v.embedding <=> %(vector)s::halfvec LIMIT %(page)s"""
# The fence keeps the planner from the index, which would miss rows behind a filter,
# and the vectors out of the sort.
_EXACTLY: LiteralString = "OFFSET 0"
# One more than may be read: then there are many, whatever was expected.
_EXACTLY_OF_FEW: LiteralString = "LIMIT %(most)s"
_COUNTED: LiteralString = ", count(*) OVER () AS passing"


def nearest(
    conn: Connection[TupleRow],
    table: str,
    scope: Scope,
    vector: Vectors,
    limit: int,
    *,
    filters: Mapping[str, Any] = ANYTHING,
    floor: float = -1.0,
    sizes: Sizes | None = None,
) -> list[Near]:
    """Return the entries nearest to a vector, each by its best chunk, in total order.

    `filters` are what NARROWED takes; only cosines of at least `floor` are returned.
    Within a transaction: what tunes the index holds until its end.
    """
    params: dict[str, Any] = {
        **scope.params,
        **filters,
        "vector": as_text(vector),
    }
    best = _best_chunks(conn, table, params, limit, sizes or Sizes(time.monotonic))
    best = [near for near in best if near.cosine >= floor]
    best.sort(key=lambda near: (-near.cosine, near.kind, near.entry_id, near.chunk))
    return best[:limit]


def _best_chunks(
    conn: Connection[TupleRow],
    table: str,
    params: dict[str, Any],
    limit: int,
    sizes: Sizes,
) -> list[Near]:
    """Return one chunk an entry, reading on while long entries fill the page."""
    page = limit + limit // 2
    reach = sizes.reach(conn, table, params, page)
    best: dict[UUID, Near] = {}
    for _ in range(MAX_ROUNDS):
        asked = {**params, "page": page}
        rows = _exactly(conn, table, asked) if reach is None else None
        if rows is None:
            rows = _by_index(conn, table, asked, max(page, reach or 0.0))
        best = {}
        for near in rows:
            known = best.get(near.entry_id)
            if known is None or _rank(near) < _rank(known):
                best[near.entry_id] = near
        if len(best) >= limit or len(rows) < page:
            break
        page *= 4
    return list(best.values())


def _exactly(
    conn: Connection[TupleRow], table: str, params: Mapping[str, Any]
) -> Sequence[Near] | None:
    """Return the page of few vectors; None: there are many after all."""
    if params["logbooks"] is None and not narrows(params):
        rows = _nearest_of_few(conn, table, params)
        return rows or _page(conn, table, params, _EXACTLY, Near)
    capped = {**params, "most": EXACT_ROWS + 1}
    some = _page(conn, table, capped, _EXACTLY_OF_FEW, _NearOfSome)
    return None if some and some[0].passing > EXACT_ROWS else some


def _by_index(
    conn: Connection[TupleRow], table: str, params: Mapping[str, Any], reach: float
) -> Sequence[Near]:
    """Return the page from the index, or from all vectors where it ends too soon.

    It gives up after a number of rows, and may not reach each: then some are missing.
    """
    ef_search = min(MAX_EF_SEARCH, max(MIN_EF_SEARCH, round(reach)))
    conn.execute(TUNE, {"ef_search": str(ef_search)}, prepare=True)
    rows = _page(conn, table, params, _BY_INDEX, Near)
    if len(rows) == params["page"]:
        return rows
    return _page(conn, table, params, _EXACTLY, Near)


def _page(
    conn: Connection[TupleRow],
    table: str,
    params: Mapping[str, Any],
    order: LiteralString,
    row: type[_Row],
) -> list[_Row]:
    with conn.cursor(row_factory=class_row(row)) as cursor:
        # Planned with the values at hand: a generic plan cannot know that the page is
        # short, and reads the whole table.
        statement = nearest_statement(table, params, order)
        return cursor.execute(statement, params, prepare=False).fetchall()


def _nearest_of_few(
    conn: Connection[TupleRow], table: str, params: Mapping[str, Any]
) -> list[Near]:
    """Return a full page, if it is surely the nearest; none where it may not be."""
    ahead = {**params, "ahead": _AHEAD * params["page"]}
    with conn.cursor(row_factory=class_row(_NearOfFew)) as cursor:
        statement = sql.SQL(_NEAREST_OF_FEW).format(table=sql.Identifier(table))
        rows = cursor.execute(statement, ahead, prepare=False).fetchall()
    # Of those as far as the last one read, others may have been left out.
    if len(rows) < params["page"] or rows[-1].cosine <= rows[0].farthest:
        return []
    return list(rows)


def nearest_statement(
    table: str, params: Mapping[str, Any], order: LiteralString
) -> sql.Composed:
    """Return the statement, with the filters that are given alone.

    It is planned each time, and they are most of what there is to plan.
    """
    return sql.SQL(_NEAREST).format(
        table=sql.Identifier(table),
        narrowed=sql.SQL(narrowed_by(params)),
        order=sql.SQL(order),
        counted=sql.SQL(_COUNTED if order == _EXACTLY_OF_FEW else ""),
    )


def _rank(near: Near) -> tuple[float, int]:
    return -near.cosine, near.chunk


def as_text(vector: Vectors) -> str:
    """Return a vector as Postgres reads it."""
    numbers = np.ravel(vector).tolist()
    # In one go: a fifth faster than each number by itself.
    return ("[" + ",".join(["%.7g"] * len(numbers)) + "]") % tuple(numbers)
