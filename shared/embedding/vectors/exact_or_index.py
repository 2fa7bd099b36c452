"""Whether a search reads every vector that it may, or asks the index."""

from collections.abc import Callable, Mapping
from typing import Any, LiteralString

from psycopg import Connection, sql

from shared.access import rights
from shared.entries.reading.filter_sql import narrowed_by, narrows
from shared.kept_values import KeptValues

# Up to so many rows reading them all is bearable, and misses none.
EXACT_ROWS = 20_000
# By so much an estimate has to exceed that to be believed without a count.
SURELY_MORE = 3
# Behind a filter of many vectors so few are read in a few ms.
FEW_PASSING = 1000
# What stands around the rows that a count is of.
_AROUND = frozenset({"Aggregate", "Limit"})
# A tenant's logbook does not become large, or small, in less.
KEPT_SECONDS = 10.0

# Counts no further than needed to know that there are more than EXACT_ROWS.
_COUNT_TENANT: LiteralString = """
    SELECT count(*)
      FROM (SELECT FROM {table} AS v
             WHERE v.tenant = %(tenant)s
             LIMIT %(cap)s) AS capped"""

# Never run: the planner is asked how many rows there would be.
_PASSING: LiteralString = f"""
    SELECT FROM entry AS e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}"""
_EVERYBODYS: LiteralString = """
    SELECT FROM {table}"""


class Sizes:
    """Sizes of tables, counted now and then: they tell whether the index is shorter."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._rows: KeptValues[tuple[str, str | None], float] = KeptValues(
            clock, KEPT_SECONDS
        )

    def reach(
        self, conn: Connection, table: str, params: Mapping[str, Any], page: int
    ) -> float | None:
        """Return how many rows the index would come by; None: reading all is shorter.

        Behind a filter that is an estimate: many may pass after all, or few.
        """
        on = {"table": sql.Identifier(table)}
        counting = sql.SQL(_COUNT_TENANT).format(**on)
        key = (table, str(params["tenant"]))
        count = self._rows.get(key, lambda: _counted(conn, counting, params))
        if count <= EXACT_ROWS:
            return None
        if params["logbooks"] is None and not narrows(params):
            return page
        passing = _estimate(conn, sql.SQL(_PASSING + narrowed_by(params)), params)
        if passing <= FEW_PASSING:
            return None
        everybodys = sql.SQL(_EVERYBODYS).format(**on)
        there = self._rows.get(
            (table, None), lambda: _estimate(conn, everybodys, params)
        )
        # The fewer pass, the more it comes by until the page is full. Measured over
        # 100,000 vectors, a row of the index takes about as long as one read exactly.
        come_by = page * there / passing
        return None if passing <= come_by else come_by


def _counted(
    conn: Connection, counting: sql.Composed, params: Mapping[str, Any]
) -> float:
    capped = {**params, "cap": EXACT_ROWS + 1}
    # Counting to the cap takes 4 to 19 ms; the planner knows large from small in 0.3.
    estimate = _estimate(conn, counting, capped)
    if estimate > SURELY_MORE * EXACT_ROWS:
        return estimate
    row = conn.execute(counting, capped, prepare=False).fetchone()
    return float(row[0]) if row else 0.0


def _estimate(
    conn: Connection, statement: sql.Composable, params: Mapping[str, Any]
) -> float:
    """Return how many rows the planner expects, below a count's limit if it has one."""
    explain = sql.SQL("EXPLAIN (FORMAT JSON) ") + statement
    row = conn.execute(explain, params, prepare=False).fetchone()
    node = row[0][0]["Plan"] if row else {}
    while node.get("Node Type") in _AROUND:
        node = node["Plans"][0]
    return float(node.get("Plan Rows", 0.0))
