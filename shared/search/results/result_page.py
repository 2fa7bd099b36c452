"""Reads the page of a search: the best of the window that the caller may still see."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.rows import TupleRow

from shared.errors import DatabaseConnectionError, DatabaseQueryError, LogchordError
from shared.log import get_logger
from shared.postgres import request_deadline
from shared.postgres.pool import pipelined_connection
from shared.search.query.plan import Plan
from shared.search.ranking.fold import Run
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results import copy_counts, superseded
from shared.search.results.hydrate import HitRow, hydrate
from shared.search.results.superseded import Other, Values

if TYPE_CHECKING:
    from shared.postgres.pool import Pool

log = get_logger()

# How many more hits are read, so that a deleted hit seldom costs a second query.
SPARE = 5


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
) -> ResultPage:
    """Return the first hits with their rows; a hit that is gone gives way to the next.

    In a run the next of its like takes its place, so that nothing is hidden by a hit
    that cannot be seen.
    """
    if not runs:
        return []
    page: list[Ranked] = []
    likes: Cursor[TupleRow] | None = None
    others: Cursor[Other] | None = None
    try:
        with pipelined_connection(pool) as conn:
            page, rows = _rows(conn, plan, runs, timeout_ms)
            shown = [rows[item.entry_id] for item in page]
            likes = copy_counts.send_copy_counts(conn, plan, page)
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
    behind, values = (
        copy_counts.fetch_copy_counts(likes),
        superseded.fetch_other_values(others),
    )
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
    conn: Connection[Any], plan: Plan, runs: Sequence[Run], timeout_ms: int
) -> tuple[list[Ranked], dict[str, HitRow]]:
    gone: set[str] = set()
    rows: dict[str, HitRow] = {}
    while True:
        near = _first(runs, gone, plan.limit + SPARE)
        page = near[: plan.limit]
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
