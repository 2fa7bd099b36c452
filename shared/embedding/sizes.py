"""How many vectors a search would compare: of few all are read, of many the nearest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import sql

from shared.entries.narrowing import NARROWED, narrows

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

# Up to so many rows reading them all is faster than the index, and misses none.
EXACT_ROWS = 20_000
# By so much an estimate has to exceed that to be believed without a count.
SURELY_MORE = 3
# A tenant's logbook does not become large, or small, in less.
KEPT_SECONDS = 10.0
_KEPT_TENANTS = 1000

# Of `count(*)` only so much as it takes to know that there are more than EXACT_ROWS.
_COUNT_TENANT: LiteralString = """
    SELECT count(*)
      FROM (SELECT FROM {table} AS v
             WHERE v.tenant = %(tenant)s
             LIMIT %(cap)s) AS capped"""

_COUNT_FILTERED: LiteralString = (
    """
    SELECT count(*)
      FROM (SELECT FROM entry AS e
             WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
               AND (%(logbooks)s::text[] IS NULL OR e.logbooks && %(logbooks)s)"""
    + NARROWED
    + """
             LIMIT %(cap)s) AS capped"""
)


class Sizes:
    """Which tenants have few vectors, asked for now and then; any number is searched.

    What a filter leaves is counted each time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    def is_small(
        self, conn: Connection[TupleRow], table: str, params: Mapping[str, Any]
    ) -> bool:
        """Say whether so few rows pass the filter that reading them all is best."""
        if params["logbooks"] is not None or narrows(params):
            return _is_small(conn, _COUNT_FILTERED, table, params)
        key, now = (table, params["tenant"]), self._clock()
        with self._lock:
            known = self._known.get(key)
        if known is not None and now - known[0] < KEPT_SECONDS:
            return known[1]
        found = _is_small(conn, _COUNT_TENANT, table, params)
        with self._lock:
            if len(self._known) >= _KEPT_TENANTS:
                self._known.clear()
            self._known[key] = (now, found)
        return found


def _is_small(
    conn: Connection[TupleRow],
    statement: LiteralString,
    table: str,
    params: Mapping[str, Any],
) -> bool:
    counting = sql.SQL(statement).format(table=sql.Identifier(table))
    capped = {**params, "cap": EXACT_ROWS + 1}
    # Counting to the cap takes 4 to 19 ms; the planner knows large from small in 0.3.
    if _estimate(conn, counting, capped) > SURELY_MORE * EXACT_ROWS:
        return False
    row = conn.execute(counting, capped, prepare=False).fetchone()
    return row is not None and row[0] <= EXACT_ROWS


def _estimate(
    conn: Connection[TupleRow], counting: sql.Composed, params: Mapping[str, Any]
) -> float:
    """Return how many rows the planner expects below the count's limit."""
    explain = sql.SQL("EXPLAIN (FORMAT JSON) ") + counting
    row = conn.execute(explain, params, prepare=False).fetchone()
    node = row[0][0]["Plan"] if row else {}
    while node and node["Node Type"] != "Limit":
        node = node.get("Plans", [None])[0]
    return float(node["Plans"][0]["Plan Rows"]) if node else 0.0
