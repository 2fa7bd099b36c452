"""The nearest to a vector: by the index of a model's table, or by reading them all."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, LiteralString, TypeVar
from uuid import UUID

from pgvector import HalfVector
from psycopg import Connection, sql
from psycopg.errors import QueryCanceled

from shared.access import rights
from shared.access.scope import Scope
from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.vectors.exact_or_index import EXACT_ROWS, Sizes
from shared.entries.reading.filter_sql import ANYTHING, narrowed_by, narrows
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all

# With 100 the index found .96 of the nearest ten among a hundred thousand similar
# notes, and .2 for one question; with 200 .996 and .8, in a millisecond more.
MIN_EF_SEARCH, MAX_EF_SEARCH = 200, 1_000
# How often the page of chunks grows fourfold when long entries fill it.
MAX_ROUNDS = 4
# The share of the remaining time that an optional read may take.
_SHARE = 0.5

# Bounds what is read next by a share of what time is left; false where none is.
Bound = Callable[[float], bool]

log = get_logger()


@dataclass(frozen=True)
class How:
    """The options of a search for the nearest, beside the table and the vector."""

    sizes: Sizes | None = None
    # The way is that of a search for so many, whatever the limit.
    chosen_for: int | None = None
    bound: Bound = lambda _: True
    # Called where others may be as near that were not reached.
    falls_short: Callable[[], None] = lambda: None


_HOWEVER = How()


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
    # The entry's present revision; `revision` is that of the vector.
    current: int


@dataclass(frozen=True)
class _NearOfFew(Near):
    """A row of a page, with the least cosine of all vectors that were read for it."""

    farthest: float


@dataclass(frozen=True)
class _NearOfSome(Near):
    """A row of a page, with the number of vectors that were read for it."""

    passing: int


_Row = TypeVar("_Row", bound=Near)
_Read = TypeVar("_Read")

TUNE: LiteralString = """
    SELECT set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.iterative_scan', 'relaxed_order', true)"""

_NEAREST: LiteralString = (
    """
    SELECT n.entry_id, n.chunk, n.revision, n.start_at, n.end_at,
           1 - n.distance AS cosine, n.source, n.kind, n.origin, n.entry_time,
           n.external_id, n.current{counted}
      FROM (SELECT v.entry_id, v.chunk, v.revision, v.start_at, v.end_at,
                   v.embedding <=> %(vector)s AS distance,
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
     ORDER BY n.distance, n.kind, n.source, n.external_id, n.chunk
     LIMIT %(page)s"""
)

# The nearest of few vectors are found without their entries; only theirs are then
# read, one by one. `farthest` tells how far all visible vectors have been read.
# The `OFFSET 0` fence computes each distance once; ordering by it `+ 0` does twice.
_NEAREST_OF_FEW: LiteralString = (
    """
    SELECT n.entry_id, n.chunk, n.revision, n.start_at, n.end_at,
           1 - n.distance AS cosine, e.source, e.kind, e.origin, e.entry_time,
           e.external_id, e.revision AS current,
           1 - max(n.distance) OVER () AS farthest
      FROM (SELECT o.entry_id, o.chunk, o.revision, o.start_at, o.end_at, o.distance
              FROM (SELECT v.entry_id, v.chunk, v.revision, v.start_at, v.end_at,
                           v.embedding <=> %(vector)s AS distance
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
     ORDER BY n.distance, e.kind, e.source, e.external_id, n.chunk
     LIMIT %(page)s"""
)
# So many pages of vectors, for one of entries: some nobody may see, or not this caller.
_AHEAD = 3

# A second key would switch the index off: ties are broken outside.
_BY_INDEX: LiteralString = """
    ORDER BY v.embedding <=> %(vector)s LIMIT %(page)s"""
# The fence keeps the planner from the index, which would miss rows behind a filter,
# and the vectors out of the sort.
_EXACTLY: LiteralString = "OFFSET 0"
# One more than may be read: then there are many, whatever was expected.
_EXACTLY_OF_FEW: LiteralString = "LIMIT %(most)s"
_COUNTED: LiteralString = ", count(*) OVER () AS passing"


def find_nearest(
    conn: Connection,
    table: str,
    scope: Scope,
    vector: Vectors,
    limit: int,
    *,
    filters: Mapping[str, Any] = ANYTHING,
    floor: float = -1.0,
    how: How = _HOWEVER,
) -> list[Near]:
    """Return the entries nearest to a vector, each by its best chunk, in total order.

    `filters` are what NARROWED takes; only cosines of at least `floor` are returned.
    Within a transaction: what tunes the index holds until its end.
    """
    params: dict[str, Any] = {**scope.params, **filters, "vector": HalfVector(vector)}
    short: list[bool] = []
    search = _Search(conn, table, params, how.bound, lambda: short.append(True))
    known = how.sizes or Sizes(time.monotonic)
    reach = known.reach(conn, table, params, _page_for(how.chosen_for or limit))
    reached = _best_chunks(search, limit, reach)
    best = [near for near in reached if near.cosine >= floor]
    # Below the floor, what was not reached is below it, too.
    if short and len(reached) == len(best) < limit:
        how.falls_short()
    return sorted(best, key=_place)[:limit]


def _place(near: Near) -> tuple[float, str, str, str, int]:
    # By its names, which it keeps for ever: an id is another one in a fresh load.
    return -near.cosine, near.kind, near.source, near.external_id, near.chunk


def _page_for(limit: int) -> int:
    return limit + limit // 2


@dataclass(frozen=True)
class _Search:
    """The connection, table, parameters and time of one search."""

    conn: Connection
    table: str
    params: Mapping[str, Any]
    bound: Bound
    falls_short: Callable[[], None] = lambda: None

    def for_page(self, page: int) -> "_Search":
        return replace(self, params={**self.params, "page": page})

    def page(self, order: LiteralString, row: type[_Row]) -> list[_Row]:
        return _page(self.conn, self.table, self.params, order, row)

    def if_in_time(self, read: Callable[[], _Read]) -> _Read | None:
        """Return the result of an optional read, or None if its time is over before."""
        try:
            # What fails is undone alone. Among statements that go out together this is
            # a transaction of its own: those before are through.
            with self.conn.transaction():
                found = read() if self.bound(_SHARE) else None
        except QueryCanceled:
            log.warning("nearest_cut_short", table=self.table)
            found = None
        self.bound(1.0)
        return found


def _best_chunks(search: _Search, limit: int, reach: float | None) -> list[Near]:
    """Return one chunk an entry, reading on while long entries fill the page."""
    page = _page_for(limit)
    rows, reach = _read(search.for_page(page), reach)
    best = _best(rows)
    for _ in range(MAX_ROUNDS - 1):
        if len(best) >= limit or len(rows) < page:
            break
        wider = 4 * page
        more = search.if_in_time(partial(_read, search.for_page(wider), reach))
        if more is None:
            break
        page, (rows, reach) = wider, more
        # What was found on the page before stays found, whatever this one has missed.
        best = _best([*best.values(), *rows])
    if len(rows) >= page:
        search.falls_short()
    return list(best.values())


def _best(rows: Sequence[Near]) -> dict[UUID, Near]:
    best: dict[UUID, Near] = {}
    for near in rows:
        known = best.get(near.entry_id)
        if known is None or _rank(near) < _rank(known):
            best[near.entry_id] = near
    return best


def _read(search: _Search, reach: float | None) -> tuple[Sequence[Near], float | None]:
    """Return a page, and the reach of the index where it was asked."""
    page = float(search.params["page"])
    if reach is None:
        rows = _exactly(search)
        if rows is not None:
            return rows, None
        search.bound(1.0)
    reach = reach or page
    return _by_index(search, max(page, reach)), reach


def _exactly(search: _Search) -> Sequence[Near] | None:
    """Return the page of few vectors; None: there are many after all."""
    if search.params["logbooks"] is None and not narrows(search.params):
        rows = _nearest_of_few(search.conn, search.table, search.params)
        return rows or search.page(_EXACTLY, Near)
    return _of_few(search)


def _of_few(search: _Search) -> Sequence[Near] | None:
    """Return the page of what passes; None: that is more than may be read."""
    capped = replace(search, params={**search.params, "most": EXACT_ROWS + 1})
    some = capped.page(_EXACTLY_OF_FEW, _NearOfSome)
    return None if some and some[0].passing > EXACT_ROWS else some


def _by_index(search: _Search, reach: float) -> Sequence[Near]:
    """Return the page from the index, or from the vectors where it ends too soon.

    It gives up after a number of rows, and may not reach each: then some are missing.
    Where too many pass to be read, or it takes too long, they are missed.
    """
    ef_search = min(MAX_EF_SEARCH, max(MIN_EF_SEARCH, round(reach)))
    search.conn.execute(TUNE, {"ef_search": str(ef_search)}, prepare=True)
    rows = search.page(_BY_INDEX, Near)
    if len(rows) == search.params["page"]:
        return rows
    every = search.if_in_time(partial(_of_few, search))
    if every is not None:
        return every
    search.falls_short()
    return rows


def _page(
    conn: Connection,
    table: str,
    params: Mapping[str, Any],
    order: LiteralString,
    row: type[_Row],
) -> list[_Row]:
    # Planned with the values at hand: a generic plan cannot know that the page is
    # short, and reads the whole table.
    statement = nearest_statement(table, params, order)
    return fetch_all(conn, row, statement, params, prepare=False)


def _nearest_of_few(
    conn: Connection, table: str, params: Mapping[str, Any]
) -> list[Near]:
    """Return a full page, if it is surely the nearest; none where it may not be."""
    ahead = {**params, "ahead": _AHEAD * params["page"]}
    statement = sql.SQL(_NEAREST_OF_FEW).format(table=sql.Identifier(table))
    rows = fetch_all(conn, _NearOfFew, statement, ahead, prepare=False)
    # Beyond the last vector that was read, visible ones may have been left out.
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
