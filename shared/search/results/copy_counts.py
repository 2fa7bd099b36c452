"""How many entries stand behind a hit: its copies and the rest of its series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection, Cursor
from psycopg.rows import TupleRow

from shared.access import rights
from shared.entries.reading.filter_sql import NARROWED, narrows
from shared.postgres import statement_deadline
from shared.postgres.pool import format_array
from shared.search.query.plan import Plan
from shared.search.ranking.ranked_hits import Ranked

# For a longer series the answer says that it has at least so many.
MOST = 1000
# How much of the page's time the count may take: it is not worth a late answer.
TIMEOUT_MS = 100

# Counts only entries that the caller may see and that pass the filters.
_OF_EACH: LiteralString = (
    """
    SELECT p.entry_id, m.others
      FROM unnest(%(ids)s::uuid[], %(groups)s::uuid[], %(series)s::uuid[])
           AS p (entry_id, group_id, series_id)
     CROSS JOIN LATERAL (
           SELECT count(*) AS others
             FROM (SELECT
                     FROM ((SELECT l.entry_id
                              FROM shape s
                              JOIN likeness l ON l.shape_id = s.id
                             WHERE s.tenant = %(tenant)s AND s.group_id = p.group_id
                             LIMIT %(most)s)
                            UNION
                           (SELECT l.entry_id
                              FROM likeness l
                             WHERE l.tenant = %(tenant)s AND l.series_id = p.series_id
                             LIMIT %(most)s)) AS alike
                     JOIN entry e ON e.id = alike.entry_id
                    WHERE e.tenant = %(tenant)s AND e.id <> p.entry_id
                      AND e.deleted_at IS NULL"""
    + rights.SEEN
)
_COUNTED: LiteralString = """
                    LIMIT %(most)s) AS visible) AS m
     LIMIT 1000"""
_PLAINLY: LiteralString = _OF_EACH + _COUNTED
_FILTERED: LiteralString = _OF_EACH + NARROWED + _COUNTED


def send_copy_counts(
    conn: Connection[Any], plan: Plan, items: Sequence[Ranked]
) -> Cursor[TupleRow] | None:
    """Ask how many others each hit stands for; None: no hit has copies or a series."""
    alike = [item for item in items if item.group_id or item.series_id]
    if not alike:
        return None
    given = {
        **plan.scope.params,
        **plan.filters.params,
        "ids": format_array(item.entry_id for item in alike),
        "groups": [item.group_id for item in alike],
        "series": [item.series_id for item in alike],
        "most": MOST,
    }
    # A statement with filters is planned anew: most of the planning is for them.
    is_plain = not narrows(plan.filters.params)
    statement = _PLAINLY if is_plain else _FILTERED
    statement_deadline.limit_time(conn, TIMEOUT_MS, one_plan=is_plain)
    return conn.execute(statement, given, prepare=is_plain)


def fetch_copy_counts(rows: Cursor[TupleRow] | None) -> dict[str, int]:
    """Read the numbers by entry; hits without copies are absent."""
    if rows is None:
        return {}
    return {str(entry_id): others for entry_id, others in rows.fetchall() if others}
