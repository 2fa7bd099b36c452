"""Which values of a page are not the newest: who states another one since, and before.

A value is of a device and of what of it. The newest is that of the latest entry which
the caller may see: whatever else there is, they are not told of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, LiteralString, NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres import at_once
from shared.query.plan import Plan
from shared.results.hydrate import Row
from shared.retrieval import columns

if TYPE_CHECKING:
    from shared.postgres import Pool

log = get_logger()

# Of the page's time: without this, an answer is one too.
TIMEOUT_MS = 100
# So many values of one entry are looked after.
MOST = 32

# Whoever states a value of the same, and may be seen.
_OTHERS: LiteralString = """
            SELECT q.value, q.said_at, e.id, e.source, e.external_id
              FROM entry_quantity q
              JOIN entry e ON e.id = q.entry_id
             WHERE q.tenant = %(tenant)s AND q.device = s.device
               AND q.parameter = s.parameter AND q.dimension = s.dimension
               AND e.tenant = %(tenant)s AND e.deleted_at IS NULL
               AND (%(logbooks)s::text[] IS NULL OR e.logbooks && %(logbooks)s)
               AND (e.readers IS NULL OR e.readers && %(principals)s)
               AND (e.visible_from IS NULL OR e.visible_from <= now())"""
_LAST: LiteralString = """
             ORDER BY q.said_at DESC, q.entry_id DESC, q.place DESC
             LIMIT 1"""
# Of several values of the same that an entry states, the last one is what it says.
_VALUES: LiteralString = (
    """
    SELECT s.entry_id, s.device, s.parameter, s.dimension, s.value AS stated,
           n.id IS NOT NULL AS is_older, o.value, o.said_at, o.id AS other_id, o.source,
           o.external_id
      FROM (SELECT DISTINCT ON (q.entry_id, q.device, q.parameter, q.dimension)
                   q.entry_id, q.device, q.parameter, q.dimension, q.value, q.said_at
              FROM entry_quantity q
             WHERE q.tenant = %(tenant)s AND q.entry_id = ANY (%(ids)s)
               AND q.device IS NOT NULL AND q.place <= %(most)s
             ORDER BY q.entry_id, q.device, q.parameter, q.dimension, q.place DESC) AS s
      LEFT JOIN LATERAL ("""  # noqa: S608
    + _OTHERS
    + " AND q.said_at > s.said_at"
    + _LAST
    + """) AS n ON true
      LEFT JOIN LATERAL ("""
    + _OTHERS
    + " AND n.id IS NULL AND q.said_at < s.said_at AND q.value <> s.value"
    + _LAST
    + """) AS p ON true
     CROSS JOIN LATERAL (
           SELECT coalesce(n.value, p.value) AS value,
                  coalesce(n.said_at, p.said_at) AS said_at,
                  coalesce(n.id, p.id) AS id,
                  coalesce(n.source, p.source) AS source,
                  coalesce(n.external_id, p.external_id) AS external_id) AS o
     WHERE o.value <> s.value
     ORDER BY s.entry_id, s.device, s.parameter, s.dimension
     LIMIT 10000"""
)


@dataclass(frozen=True, slots=True)
class Other:
    """A value that an entry states, and another one of the same, by another entry."""

    entry_id: UUID
    device: str
    parameter: str
    dimension: str
    stated: float
    # Whether the other one holds since; else it is what this one has replaced.
    is_older: bool
    value: float
    said_at: datetime
    other_id: UUID
    source: str
    external_id: str


class Values(NamedTuple):
    """What became of the values of one entry, and what they have replaced."""

    superseded_by: tuple[Other, ...] = ()
    replaces: tuple[Other, ...] = ()


NONE = Values()


def read(
    pool: Callable[[], Pool], plan: Plan, rows: Sequence[Row]
) -> dict[UUID, Values]:
    """Return it by entry, of those that have any; of none if it takes too long."""
    ids = [row.entry_id for row in rows if row.states_values]
    if not ids:
        return {}
    given = {**plan.scope.params, "ids": ids, "most": MOST}
    try:
        with at_once(pool()) as conn:
            columns.limit_time(conn, TIMEOUT_MS, one_plan=True)
            with conn.cursor(row_factory=class_row(Other)) as cur:
                found = cur.execute(_VALUES, given, prepare=True).fetchall()
    except DatabaseQueryError as exc:
        log.warning("values_not_compared", code=exc.error_code, technical=exc.technical)
        return {}
    return {
        entry_id: Values(
            tuple(one for one in found if one.entry_id == entry_id and one.is_older),
            tuple(
                one for one in found if one.entry_id == entry_id and not one.is_older
            ),
        )
        for entry_id in {one.entry_id for one in found}
    }
