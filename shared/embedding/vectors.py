"""Vectors in Postgres: a table for each model, filled per entry, searched by cosine."""

import json
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from psycopg import Connection, sql
from psycopg.rows import TupleRow, class_row

from shared.access import rights
from shared.access.scope import Scope
from shared.embedding.chunks import Chunk
from shared.embedding.encoders import Vectors, checked
from shared.embedding.sizes import Sizes
from shared.embedding.tables import EmbeddingModel, active, ensure_table, registered
from shared.entries.narrowing import ANYTHING, NARROWED, narrows

# Whoever stores or searches needs the model's table too: one module to import.
__all__ = [
    "EmbeddingModel",
    "Made",
    "Near",
    "active",
    "cosines",
    "embedded_entries",
    "ensure_table",
    "middle",
    "nearest",
    "registered",
    "store",
    "store_all",
]

MIN_EF_SEARCH, MAX_EF_SEARCH = 100, 1_000
# More in one statement would run into its time limit on a large index.
STORE_BATCH = 200
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


@dataclass(frozen=True, slots=True)
class Made:
    """The vectors of one revision of an entry, a chunk each."""

    entry_id: UUID
    revision: int
    chunks: Sequence[Chunk]
    vectors: Vectors


# An edit or deletion waits until the vectors are in, and a late or superseded attempt
# finds no row: without the lock two revisions could leave chunks side by side.
_LOCK_ENTRIES: LiteralString = """
    SELECT e.id, e.deleted_at IS NOT NULL
      FROM entry e
      JOIN unnest(%(entry_ids)s::uuid[], %(revisions)s::int[])
           AS made (entry_id, revision) ON made.entry_id = e.id
     WHERE e.tenant = %(tenant)s AND e.revision <= made.revision
     ORDER BY e.id
       FOR NO KEY UPDATE OF e"""

_DELETE: LiteralString = """
    DELETE FROM {table}
     WHERE tenant = %(tenant)s AND entry_id = ANY(%(entry_ids)s)"""

# Binary, and so half as long to write, and read by the server without a parse.
_COPY: LiteralString = """
    COPY {table} (tenant, entry_id, revision, chunk, start_at, end_at, embedding)
    FROM STDIN (FORMAT BINARY)"""
# What goes into a halfvec is what comes out of a bytea: the bytes as they are.
_COPIED = ("text", "uuid", "int4", "int4", "int4", "int4", "bytea")


def store(
    conn: Connection[TupleRow],
    table: str,
    tenant: str,
    entry_id: UUID,
    revision: int,
    chunks: Sequence[Chunk],
    vectors: Vectors,
) -> bool:
    """Replace the vectors of an entry; idempotent. False if it has moved on or gone."""
    made = Made(entry_id, revision, chunks, vectors)
    return entry_id in store_all(conn, table, tenant, [made])


def store_all(
    conn: Connection[TupleRow], table: str, tenant: str, made: Sequence[Made]
) -> set[UUID]:
    """Replace the vectors of entries, and return whose; of the others, as `store`.

    Without chunks those of an entry go, also of a deleted one. All rows are locked
    by one statement: in the order of ids, as everybody locks them.
    """
    embeddings = {one.entry_id: _halves(one, table) for one in made}
    asked = {
        "tenant": tenant,
        "entry_ids": [one.entry_id for one in made],
        "revisions": [one.revision for one in made],
    }
    locked = conn.execute(_LOCK_ENTRIES, asked).fetchall()
    there = {one for one, deleted in locked if not (deleted and embeddings[one])}
    if not there:
        return there
    conn.execute(_on(_DELETE, table), {"tenant": tenant, "entry_ids": sorted(there)})
    rows = [
        (tenant, one.entry_id, one.revision, chunk.number, chunk.start, chunk.end, half)
        for one in sorted(made, key=lambda one: one.entry_id)
        if one.entry_id in there
        for chunk, half in zip(one.chunks, embeddings[one.entry_id], strict=True)
    ]
    for first in range(0, len(rows), STORE_BATCH):
        with conn.cursor().copy(_on(_COPY, table)) as copy:
            copy.set_types(_COPIED)
            for row in rows[first : first + STORE_BATCH]:
                copy.write_row(row)
    return there


def _halves(made: Made, table: str) -> list[bytes]:
    """Return each vector as the server takes a halfvec: length, nothing, numbers."""
    if not made.chunks:
        return []
    dimension = made.vectors.shape[-1]
    good = checked(made.vectors, len(made.chunks), dimension, table)
    head = struct.pack(">HH", dimension, 0)
    return [head + one.tobytes() for one in good.astype(">f2")]


_TUNE: LiteralString = """
    SELECT set_config('hnsw.ef_search', %(ef_search)s, true),
           set_config('hnsw.iterative_scan', 'relaxed_order', true)"""

_NEAREST: LiteralString = (
    """
    SELECT n.entry_id, n.chunk, n.revision, n.start_at, n.end_at,
           1 - n.distance AS cosine, n.source, n.kind, n.origin, n.entry_time,
           n.external_id, n.current
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
    is_small = (sizes or Sizes(time.monotonic)).is_small(conn, table, params)
    order = _EXACTLY if is_small else _BY_INDEX
    best = _best_chunks(conn, table, params, limit, order)
    best = [near for near in best if near.cosine >= floor]
    best.sort(key=lambda near: (-near.cosine, near.kind, near.entry_id, near.chunk))
    return best[:limit]


def _best_chunks(
    conn: Connection[TupleRow],
    table: str,
    params: dict[str, Any],
    limit: int,
    order: LiteralString,
) -> list[Near]:
    """Return one chunk an entry, reading on while long entries fill the page."""
    statement = nearest_statement(table, params, order)
    page = limit + limit // 2
    best: dict[UUID, Near] = {}
    for _ in range(MAX_ROUNDS):
        if order == _BY_INDEX:
            ef_search = min(MAX_EF_SEARCH, max(MIN_EF_SEARCH, page))
            conn.execute(_TUNE, {"ef_search": str(ef_search)}, prepare=True)
        asked = {**params, "page": page}
        rows = _nearest_of_few(conn, table, asked) if order == _EXACTLY else []
        if not rows:
            with conn.cursor(row_factory=class_row(Near)) as cursor:
                # Planned with the values at hand: a generic plan cannot know that the
                # page is short, and reads the whole table.
                rows = cursor.execute(statement, asked, prepare=False).fetchall()
        best = {}
        for near in rows:
            known = best.get(near.entry_id)
            if known is None or _rank(near) < _rank(known):
                best[near.entry_id] = near
        if len(best) >= limit or len(rows) < page:
            break
        page *= 4
    return list(best.values())


def _nearest_of_few(
    conn: Connection[TupleRow], table: str, params: Mapping[str, Any]
) -> list[Near]:
    """Return a full page, if it is surely the nearest; none where it may not be."""
    if params["logbooks"] is not None or narrows(params):
        return []
    ahead = {**params, "ahead": _AHEAD * params["page"]}
    with conn.cursor(row_factory=class_row(_NearOfFew)) as cursor:
        statement = _on(_NEAREST_OF_FEW, table)
        rows = cursor.execute(statement, ahead, prepare=False).fetchall()
    # Of those as far as the last one read, others may have been left out.
    if len(rows) < params["page"] or rows[-1].cosine <= rows[0].farthest:
        return []
    return list(rows)


def nearest_statement(
    table: str, params: Mapping[str, Any], order: LiteralString
) -> sql.Composed:
    """Return the statement, without filters that let everything through.

    It is planned each time, and they are most of what there is to plan.
    """
    return sql.SQL(_NEAREST).format(
        table=sql.Identifier(table),
        narrowed=sql.SQL(NARROWED if narrows(params) else ""),
        order=sql.SQL(order),
    )


def _rank(near: Near) -> tuple[float, int]:
    return -near.cosine, near.chunk


_COSINES: LiteralString = """
    SELECT v.entry_id, max(1 - (v.embedding <=> %(vector)s::halfvec))
      FROM {table} AS v
     WHERE v.tenant = %(tenant)s AND v.entry_id = ANY (%(entry_ids)s)
     GROUP BY v.entry_id"""


def cosines(
    conn: Connection[TupleRow],
    table: str,
    tenant: str,
    vector: Vectors,
    entry_ids: Sequence[UUID],
) -> dict[UUID, float]:
    """Return the cosine of each entry's best chunk; entries without one are absent."""
    params = {"tenant": tenant, "vector": as_text(vector), "entry_ids": list(entry_ids)}
    rows = conn.execute(_on(_COSINES, table), params, prepare=True).fetchall()
    return {entry_id: float(cosine) for entry_id, cosine in rows}


_MIDDLE: LiteralString = """
    SELECT avg(v.embedding)::text
      FROM {table} AS v
     WHERE v.tenant = %(tenant)s AND v.entry_id = %(entry_id)s"""


def middle(
    conn: Connection[TupleRow], table: str, tenant: str, entry_id: UUID
) -> Vectors | None:
    """Return the mean of an entry's vectors; None: it has none."""
    given = {"tenant": tenant, "entry_id": entry_id}
    row = conn.execute(_on(_MIDDLE, table), given).fetchone()
    if row is None or row[0] is None:
        return None
    return np.asarray(json.loads(row[0]), dtype=np.float32)


_EMBEDDED: LiteralString = """
    SELECT count(*) FROM {table} WHERE tenant = %(tenant)s AND chunk = 0"""


def embedded_entries(conn: Connection[TupleRow], table: str, tenant: str) -> int:
    """Return how many entries of a tenant have vectors."""
    row = conn.execute(_on(_EMBEDDED, table), {"tenant": tenant}).fetchone()
    return int(row[0]) if row else 0


def _on(statement: LiteralString, table: str) -> sql.Composed:
    return sql.SQL(statement).format(table=sql.Identifier(table))


def as_text(vector: Vectors) -> str:
    """Return a vector as Postgres reads it."""
    numbers = np.ravel(vector).tolist()
    # In one go: a fifth faster than each number by itself.
    return ("[" + ",".join(["%.7g"] * len(numbers)) + "]") % tuple(numbers)
