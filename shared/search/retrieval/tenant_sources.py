"""Finds the sources that a tenant's entries are of, from whomever they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, LiteralString

from shared.kept_values import KeptValues
from shared.postgres import statement_deadline
from shared.postgres.pool import pipelined_connection

if TYPE_CHECKING:
    from shared.postgres.pool import Pool

# A new source has little that another one could hide in so short a time.
_KEPT_SECONDS = 10.0
_MOST_SOURCES = 100

# Takes a step for each source, not for each entry.
_SOURCES: LiteralString = """
    WITH RECURSIVE found (source) AS (
        (SELECT e.source
           FROM entry e
          WHERE e.tenant = %(tenant)s
          ORDER BY e.source
          LIMIT 1)
         UNION ALL
        SELECT n.source
          FROM found f
         CROSS JOIN LATERAL (
               SELECT e.source
                 FROM entry e
                WHERE e.tenant = %(tenant)s AND e.source > f.source
                ORDER BY e.source
                LIMIT 1) AS n)
    SELECT source
      FROM found
     LIMIT %(most)s"""


class TenantSources:
    """The names of sources by tenant, asked for every ten seconds at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._names: KeptValues[str, tuple[str, ...]] = KeptValues(clock, _KEPT_SECONDS)

    def list_sources(self, pool: Pool, tenant: str, budget_ms: int) -> tuple[str, ...]:
        """Return the first sources that a tenant's entries are of, by name."""

        def read() -> tuple[str, ...]:
            with pipelined_connection(pool) as conn:
                statement_deadline.limit_time(conn, budget_ms)
                given = {"tenant": tenant, "most": _MOST_SOURCES}
                rows = conn.execute(_SOURCES, given, prepare=True).fetchall()
            return tuple(source for (source,) in rows)

        return self._names.get(tenant, read)
