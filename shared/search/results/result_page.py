"""Reads the page of a search: the best of the window that the caller may still see."""

from collections.abc import Sequence
from itertools import islice
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection, Cursor

from shared.access import rights
from shared.entries.reading.filter_sql import NARROWED, narrows
from shared.errors import DatabaseConnectionError, DatabaseQueryError, LogchordError
from shared.log import get_logger
from shared.postgres import request_deadline, statement_deadline
from shared.postgres.pool import Pool, format_array, pipelined_connection
from shared.search.query.plan import Plan
from shared.search.ranking.fold import Run
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results import superseded
from shared.search.results.hydrate import HitRow, hydrate
from shared.search.results.superseded import Other, Values

log = get_logger()

# How many more hits are read, so that a deleted hit seldom costs a second query.
SPARE = 5
# For a longer series the answer says that it has at least so many.
_MOST_SIMILAR = 1000
# How much of the page's time the count may take: it is not worth a late answer.
SIMILAR_TIMEOUT_MS = 100

# Counts only entries that the caller may see and that pass the filters.
_OF_EACH: LiteralString = f"""
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
                      AND e.deleted_at IS NULL{rights.SEEN}"""
_COUNTED: LiteralString = """
                    LIMIT %(most)s) AS visible) AS m
     LIMIT 1000"""
_PLAINLY: LiteralString = _OF_EACH + _COUNTED
_FILTERED: LiteralString = _OF_EACH + NARROWED + _COUNTED


class Shown(NamedTuple):
    """One hit of the page: its row, how many like it stand behind, its values."""

    item: Ranked
    row: HitRow
    similar: int = 0
    values: Values = superseded.NONE


ResultPage = list[Shown]


def read_page(
    pool: Pool,
    plan: Plan,
    runs: Sequence[Run],
    timeout_ms: int,
    *,
    with_values: bool = True,
    least: int = 0,
) -> ResultPage:
    """Return the first hits with their rows; a hit that is gone gives way to the next.

    In a run the next of its like takes its place, so that nothing is hidden by a hit
    that cannot be seen. `least`: so many are read where a page has fewer.
    """
    if not runs:
        return []
    page: list[Ranked] = []
    likes: Cursor | None = None
    others: Cursor[Other] | None = None
    try:
        with pipelined_connection(pool) as conn:
            most = max(plan.limit, least)
            page, rows = _rows(conn, plan, runs, timeout_ms, most)
            shown = [rows[item.entry_id] for item in page]
            likes = send_copy_counts(conn, plan, page)
            others = (
                superseded.send_other_values(conn, plan, shown) if with_values else None
            )
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        if not page:
            raise
        if likes is None or likes.pgresult is not None:
            _left_out("values_not_compared", exc)
            others = None
        else:
            # What was to come behind it is asked for by itself.
            _left_out("likes_not_counted", exc)
            likes = None
            others = _others(pool, plan, shown) if with_values else None
    behind, values = fetch_copy_counts(likes), superseded.fetch_other_values(others)
    return [
        Shown(
            item,
            row,
            behind.get(item.entry_id, 0),
            values.get(row.entry_id, superseded.NONE),
        )
        for item, row in zip(page, shown, strict=True)
    ]


def _rows(
    conn: Connection, plan: Plan, runs: Sequence[Run], timeout_ms: int, most: int
) -> tuple[list[Ranked], dict[str, HitRow]]:
    gone: set[str] = set()
    rows: dict[str, HitRow] = {}
    while True:
        near = _first(runs, gone, most + SPARE)
        page = near[:most]
        if all(item.entry_id in rows for item in page):
            return page, rows
        asked = {one.entry_id for one in near} - rows.keys()
        ids = [UUID(entry_id) for entry_id in sorted(asked)]
        found = hydrate(conn, ids, plan.scope, timeout_ms)
        rows |= {str(entry_id): row for entry_id, row in found.items()}
        gone |= asked - rows.keys()


def _others(pool: Pool, plan: Plan, shown: Sequence[HitRow]) -> Cursor[Other] | None:
    try:
        with (
            request_deadline.hurried(superseded.TIMEOUT_MS / 1000),
            pipelined_connection(pool) as conn,
        ):
            return superseded.send_other_values(conn, plan, shown)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        _left_out("values_not_compared", exc)
        return None


def _left_out(what: str, error: LogchordError) -> None:
    log.warning(what, code=error.error_code, technical=error.technical)


def _first(runs: Sequence[Run], gone: set[str], count: int) -> list[Ranked]:
    left = (next((i for i in run if i.entry_id not in gone), None) for run in runs)
    return list(islice((item for item in left if item is not None), count))


def send_copy_counts(
    conn: Connection, plan: Plan, items: Sequence[Ranked]
) -> Cursor | None:
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
        "most": _MOST_SIMILAR,
    }
    # A statement with filters is planned anew: most of the planning is for them.
    is_plain = not narrows(plan.filters.params)
    statement = _PLAINLY if is_plain else _FILTERED
    statement_deadline.limit_time(conn, SIMILAR_TIMEOUT_MS, one_plan=is_plain)
    return conn.execute(statement, given, prepare=is_plain)


def fetch_copy_counts(rows: Cursor | None) -> dict[str, int]:
    """Read the numbers by entry; hits without copies are absent."""
    if rows is None:
        return {}
    return {str(entry_id): others for entry_id, others in rows.fetchall() if others}
