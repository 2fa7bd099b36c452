"""How many entries stand behind a hit: its copies and the rest of its series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.entries.narrowing import NARROWED
from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres import translated_errors
from shared.query.plan import Plan
from shared.ranking.ranked import Ranked
from shared.retrieval import columns

log = get_logger()

# A series that is longer is told to be so long at least.
MOST = 1000
# Of the page's time: a count is worth no answer that comes too late.
TIMEOUT_MS = 100

# Only what the caller may see, and what the filters let through.
_COUNTS: LiteralString = (
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
                      AND e.deleted_at IS NULL
                      AND (%(logbooks)s::text[] IS NULL OR e.logbooks && %(logbooks)s)
                      AND (e.readers IS NULL OR e.readers && %(principals)s)
                      AND (e.visible_from IS NULL OR e.visible_from <= now())"""  # noqa: S608
    + NARROWED
    + """
                    LIMIT %(most)s) AS visible) AS m
     LIMIT 1000"""
)


def counts(
    conn: Connection[Any], plan: Plan, items: Sequence[Ranked]
) -> dict[str, int]:
    """Return how many others each hit stands for; hits that have no like are absent.

    So are all of them where counting takes too long.
    """
    alike = [item for item in items if item.group_id or item.series_id]
    if not alike:
        return {}
    given = {
        **plan.scope.params,
        **plan.filters.params,
        "ids": [UUID(item.entry_id) for item in alike],
        "groups": [item.group_id for item in alike],
        "series": [item.series_id for item in alike],
        "most": MOST,
    }
    try:
        with translated_errors(), conn.transaction():
            # The page was read by one plan for all: what filters is planned anew.
            columns.limit_time(conn, TIMEOUT_MS)
            rows = conn.execute(_COUNTS, given).fetchall()
    except DatabaseQueryError as exc:
        log.warning("likes_not_counted", code=exc.error_code, technical=exc.technical)
        return {}
    return {str(entry_id): others for entry_id, others in rows if others}
