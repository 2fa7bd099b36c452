"""Vectors in Postgres: a table for each model, filled per entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg import Connection, sql

from shared.embedding.models.encoder_contract import Vectors, check_vectors
from shared.embedding.vectors.chunks import Chunk
from shared.errors import EmbeddingGenerationError
from shared.postgres.fetch_rows import fetch_value

# More in one statement would run into its time limit on a large index.
STORE_BATCH = 200


@dataclass(frozen=True, slots=True)
class EntryVectors:
    """The vectors of one revision of an entry, a chunk each."""

    entry_id: UUID
    revision: int
    chunks: Sequence[Chunk]
    vectors: Vectors
    # Those that are there are of the same, and are of this revision, too, from now on.
    is_known: bool = False


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

_RAISE: LiteralString = """
    UPDATE {table} AS v SET revision = k.revision
      FROM unnest(%(entry_ids)s::uuid[], %(revisions)s::int[])
           AS k (entry_id, revision)
     WHERE v.tenant = %(tenant)s AND v.entry_id = k.entry_id
       AND v.revision <> k.revision"""
_THERE: LiteralString = """
    SELECT v.entry_id FROM {table} AS v
     WHERE v.tenant = %(tenant)s AND v.entry_id = ANY(%(entry_ids)s) AND v.chunk = 0"""

# Binary, and so half as long to write, and read by the server without a parse.
_COPY: LiteralString = """
    COPY {table} (tenant, entry_id, revision, chunk, start_at, end_at, embedding)
    FROM STDIN (FORMAT BINARY)"""
_COPIED = ("text", "uuid", "int4", "int4", "int4", "int4", "halfvec")


def store_all(
    conn: Connection, table: str, tenant: str, made: Sequence[EntryVectors]
) -> set[UUID]:
    """Replace the vectors of entries, and return whose; idempotent.

    None of one that has moved on or is gone. Without chunks those of an entry go, also
    of a deleted one. All rows are locked by one statement, in the order of ids.
    """
    embeddings = {one.entry_id: _halves(one, table) for one in made}
    asked = {
        "tenant": tenant,
        "entry_ids": [one.entry_id for one in made],
        "revisions": [one.revision for one in made],
    }
    locked = conn.execute(_LOCK_ENTRIES, asked).fetchall()
    bare = {one.entry_id for one in made if not (one.chunks or one.is_known)}
    there = {one for one, deleted in locked if not deleted or one in bare}
    stay = [one for one in made if one.is_known and one.entry_id in there]
    if stay:
        _stay(conn, table, tenant, stay)
    anew = [one for one in made if not one.is_known and one.entry_id in there]
    if not anew:
        return there
    gone = sorted(one.entry_id for one in anew)
    conn.execute(_on(_DELETE, table), {"tenant": tenant, "entry_ids": gone})
    rows = [
        (tenant, one.entry_id, one.revision, chunk.number, chunk.start, chunk.end, half)
        for one in sorted(anew, key=lambda one: one.entry_id)
        for chunk, half in zip(one.chunks, embeddings[one.entry_id], strict=True)
    ]
    for first in range(0, len(rows), STORE_BATCH):
        with conn.cursor().copy(_on(_COPY, table)) as copy:
            copy.set_types(_COPIED)
            for row in rows[first : first + STORE_BATCH]:
                copy.write_row(row)
    return there


def _stay(
    conn: Connection, table: str, tenant: str, known: Sequence[EntryVectors]
) -> None:
    """Assign vectors to a later revision that reads the same."""
    in_order = sorted(known, key=lambda one: one.entry_id)
    asked = {
        "tenant": tenant,
        "entry_ids": [one.entry_id for one in in_order],
        "revisions": [one.revision for one in in_order],
    }
    there = {one for (one,) in conn.execute(_on(_THERE, table), asked)}
    if len(there) < len(in_order):
        # Their table is another one meanwhile: the next attempt makes them.
        raise EmbeddingGenerationError(technical="vectors that were to stay are gone")
    conn.execute(_on(_RAISE, table), asked)


def _halves(made: EntryVectors, table: str) -> list[HalfVector]:
    if not made.chunks:
        return []
    dimension = made.vectors.shape[-1]
    good = check_vectors(made.vectors, len(made.chunks), dimension, table)
    return [HalfVector(one) for one in good]


_COSINES: LiteralString = """
    SELECT v.entry_id, max(1 - (v.embedding <=> %(vector)s))
      FROM {table} AS v
     WHERE v.tenant = %(tenant)s AND v.entry_id = ANY (%(entry_ids)s)
     GROUP BY v.entry_id"""


def load_cosines(
    conn: Connection,
    table: str,
    tenant: str,
    vector: Vectors,
    entry_ids: Sequence[UUID],
) -> dict[UUID, float]:
    """Return the cosine of each entry's best chunk; entries without one are absent."""
    params = {
        "tenant": tenant,
        "vector": HalfVector(vector),
        "entry_ids": list(entry_ids),
    }
    rows = conn.execute(_on(_COSINES, table), params, prepare=True).fetchall()
    return {entry_id: float(cosine) for entry_id, cosine in rows}


_MIDDLE: LiteralString = """
    SELECT avg(v.embedding)
      FROM {table} AS v
     WHERE v.tenant = %(tenant)s AND v.entry_id = %(entry_id)s"""


def middle(conn: Connection, table: str, tenant: str, entry_id: UUID) -> Vectors | None:
    """Return the mean of an entry's vectors; None: it has none."""
    given = {"tenant": tenant, "entry_id": entry_id}
    row = conn.execute(_on(_MIDDLE, table), given, binary=True).fetchone()
    if row is None or row[0] is None:
        return None
    mean: HalfVector = row[0]
    return mean.to_numpy().astype(np.float32)


_EMBEDDED: LiteralString = """
    SELECT count(*) FROM {table} WHERE tenant = %(tenant)s AND chunk = 0"""


def count_embedded_entries(conn: Connection, table: str, tenant: str) -> int:
    """Return how many entries of a tenant have vectors."""
    return int(fetch_value(conn, _on(_EMBEDDED, table), {"tenant": tenant}) or 0)


def _on(statement: LiteralString, table: str) -> sql.Composed:
    return sql.SQL(statement).format(table=sql.Identifier(table))
