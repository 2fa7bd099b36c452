"""In which languages a tenant's entries are: a question is compiled for no others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, LiteralString

from shared.postgres import at_once

if TYPE_CHECKING:
    from shared.postgres import Pool
    from shared.retrieval.module import Ask, Tools

_KEPT_TENANTS = 1000

# By the index whatever the tables looked like when this was planned: a step for each
# language, and not one for each entry.
_BY_INDEX: LiteralString = """
    SELECT set_config('statement_timeout', %(ms)s, true),
           set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('enable_seqscan', 'off', true),
           set_config('enable_bitmapscan', 'off', true),
           set_config('enable_sort', 'off', true)"""
_LANGUAGES: LiteralString = """
    WITH RECURSIVE found (language) AS (
        (SELECT t.language
           FROM entry_text t
          WHERE t.tenant = %(tenant)s
          ORDER BY t.language
          LIMIT 1)
         UNION ALL
        SELECT n.language
          FROM found f
         CROSS JOIN LATERAL (
               SELECT t.language
                 FROM entry_text t
                WHERE t.tenant = %(tenant)s AND t.language > f.language
                ORDER BY t.language
                LIMIT 1) AS n)
    SELECT language FROM found LIMIT 1000"""


def of(ask: Ask, tools: Tools) -> tuple[str, ...]:
    """Return the languages that a branch searches; none: all that there may be."""
    if tools.written_in is None:
        return ()
    return tools.written_in.of(tools.pool, ask.plan.scope.tenant, ask.budget_ms)


class WrittenIn:
    """The languages of each tenant's entries, safe between threads.

    Asked for each search, so that one that came a moment ago is searched. None is
    forgotten: the index may still show an entry in the language that it was read in.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, frozenset[str]] = {}

    def of(self, pool: Pool, tenant: str, budget_ms: int) -> tuple[str, ...]:
        """Return all languages that there are, or were; none: there are no entries."""
        with at_once(pool) as conn:
            conn.execute(_BY_INDEX, {"ms": str(budget_ms)}, prepare=True)
            rows = conn.execute(_LANGUAGES, {"tenant": tenant}, prepare=True)
        found = frozenset(row[0] for row in rows.fetchall())
        with self._lock:
            if tenant not in self._seen and len(self._seen) >= _KEPT_TENANTS:
                self._seen.clear()
            found |= self._seen.get(tenant, frozenset())
            self._seen[tenant] = found
        return tuple(sorted(found))
