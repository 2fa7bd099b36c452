"""A question moved towards the best that it has found, and what is near to it then."""

from collections.abc import Sequence
from math import isnan
from typing import LiteralString
from uuid import UUID

from pgvector import HalfVector, Vector
from psycopg import Connection, sql

from shared.access import rights
from shared.access.scope import Scope
from shared.embedding.models.encoder_contract import Vectors

# Each of the best entries gives its chunk that was found. Entries that the caller
# may not see move nothing, else the order of visible entries would betray them. The
# question is stretched instead of the mean being shortened: a cosine heeds
# directions alone.
_COSINES: LiteralString = (
    """
    WITH best AS (
        SELECT l2_normalize(avg(nearest.embedding::vector) + %(stretched)s)
               ::halfvec AS moved
          FROM (SELECT DISTINCT ON (v.entry_id) v.embedding
                  FROM {table} AS v
                  JOIN entry AS e ON e.id = v.entry_id
                 WHERE v.tenant = %(tenant)s AND e.tenant = %(tenant)s
                   AND v.entry_id = ANY (%(best)s)
                   AND e.deleted_at IS NULL"""
    + rights.SEEN
    + """
                 ORDER BY v.entry_id, v.embedding <=> %(vector)s, v.chunk
               ) AS nearest)
    SELECT v.entry_id, max(1 - (v.embedding <=> best.moved))
      FROM {table} AS v
     CROSS JOIN best
     WHERE v.tenant = %(tenant)s AND v.entry_id = ANY (%(entry_ids)s)
     GROUP BY v.entry_id"""
)


def cosines(
    conn: Connection,
    table: str,
    scope: Scope,
    vector: Vectors,
    entry_ids: Sequence[UUID],
    *,
    best: Sequence[UUID],
    share: float,
) -> dict[UUID, float]:
    """Return the cosines of entries to a question with a share of the mean of the best.

    The share is above 0. Absent is what has no vector, and all if none of the best has.
    """
    given = {
        **scope.params,
        "vector": HalfVector(vector),
        "stretched": Vector(vector / share),
        "best": list(best),
        "entry_ids": list(entry_ids),
    }
    statement = sql.SQL(_COSINES).format(table=sql.Identifier(table))
    rows = conn.execute(statement, given, prepare=True).fetchall()
    return {one: moved for one, moved in rows if moved is not None and not isnan(moved)}
