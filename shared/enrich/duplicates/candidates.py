"""Shapes that may be alike: they share a band, and a name or a number.

Forms that are filled in for one device each share most of their words, so bands alone
find all of them, the more the larger a logbook is. What a text names tells them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared.enrich.duplicates import similarity
from shared.enrich.duplicates.similarity import Shape
from shared.postgres.pool import format_array

# As migration 0032 indexes them: see there.
_ANY, _UNNAMED = 0, 1
# As many names and numbers of two texts are compared by the statement.
_COUNTED = 10_000
# `OFFSET 0`: the lists are read once, not with every shape. `|| ''`: not by the index
# of tenants, which would name all that a tenant has. Whoever shares more bands is more
# likely a copy.
_MAY_BE_ALIKE: LiteralString = """
    SELECT asked.number, may.id, may.group_id, may.runs, may.marks, may.bands
      FROM (SELECT a.number, a.bands::bigint[] AS bands, a.sought::integer[] AS sought,
                   a.marks::integer[] AS marks, a.runs
              FROM unnest(%(bands)s::text[], %(sought)s::text[], %(marks)s::text[],
                          %(runs)s::integer[])
                   WITH ORDINALITY AS a (bands, sought, marks, runs, number)
            OFFSET 0) AS asked
     CROSS JOIN LATERAL (
           SELECT s.id, s.group_id, s.runs, s.marks, s.bands
             FROM shape s
            WHERE s.tenant || '' = %(tenant)s AND s.bands && asked.bands
              AND CASE WHEN cardinality(s.marks) BETWEEN 1 AND 64
                       THEN s.marks || 0 ELSE '{0,1}'::integer[] END && asked.sought
              AND least(cardinality(s.runs), asked.runs)
                  >= %(alike)s * greatest(cardinality(s.runs), asked.runs)
              AND (cardinality(s.marks) * cardinality(asked.marks) > %(counted)s
                   OR (SELECT count(*) FROM unnest(s.marks) AS m (mark)
                        WHERE m.mark = ANY(asked.marks))
                      >= %(alike_marks)s
                         * least(cardinality(s.marks), cardinality(asked.marks)))
            ORDER BY (SELECT count(*) FROM unnest(s.bands) AS b (band)
                       WHERE b.band = ANY(asked.bands)) DESC, s.id
           OFFSET %(skip)s
            LIMIT %(limit)s) AS may"""


@dataclass(frozen=True, slots=True)
class KnownShape:
    """A shape that has a row, and the group that it is in."""

    id: UUID
    group_id: UUID
    runs: list[int]
    marks: list[int]
    bands: list[int]

    @property
    def shape(self) -> Shape:
        """Return the row as a shape that can be compared with others."""
        return Shape(tuple(self.runs), tuple(self.marks), tuple(self.bands))


@dataclass(frozen=True, slots=True)
class _CandidateRow(KnownShape):
    number: int


def find_candidates(
    conn: Connection, tenant: str, shapes: Sequence[Shape], *, limit: int, skip: int = 0
) -> list[list[KnownShape]]:
    """Return for each shape those that may be alike, the likeliest first."""
    given = {
        "tenant": tenant,
        "bands": [format_array(one.bands) for one in shapes],
        "sought": [
            format_array([*one.marks, _UNNAMED] if one.marks else [_ANY])
            for one in shapes
        ],
        "marks": [format_array(one.marks) for one in shapes],
        "runs": [len(one.runs) for one in shapes],
        "alike": similarity.ALIKE,
        "alike_marks": similarity.ALIKE_MARKS,
        "counted": _COUNTED,
        "skip": skip,
        "limit": limit,
    }
    found: list[list[KnownShape]] = [[] for _ in shapes]
    # In the wire's own form lists of numbers are read in half the time. A plan made
    # when there were few shapes would read all of them, for as long as it is kept.
    with conn.cursor(row_factory=class_row(_CandidateRow), binary=True) as cur:
        for row in cur.execute(_MAY_BE_ALIKE, given, prepare=False):
            found[row.number - 1].append(row)
    return found
