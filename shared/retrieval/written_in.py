"""In which languages a tenant's entries are: a question is compiled for no others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, LiteralString

from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres import at_once

if TYPE_CHECKING:
    from shared.postgres import Pool
    from shared.retrieval.module import Ask, Tools

log = get_logger()

_KEPT_TENANTS = 1000
# Far more than it takes; a table full of dead rows must not cost a branch its time.
_MOST_MS = 50

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
    (SELECT language FROM found LIMIT 1000)
     UNION ALL
    (SELECT NULL
       FROM quarantine q
      WHERE q.tenant = %(tenant)s AND q.stage = 'index'
      LIMIT 1)"""


def of(ask: Ask, tools: Tools) -> tuple[str, ...]:
    """Return the languages that a branch searches; none: all that there may be."""
    if tools.written_in is None:
        return ()
    return tools.written_in.of(tools.pool, ask.plan.scope.tenant, ask.budget_ms)


class WrittenIn:
    """The languages of each tenant's entries, safe between threads.

    Asked for each search, so that one that came a moment ago is searched. None is
    forgotten: the index may still show an entry in the language that it was read in,
    and goes on to where it could not be written, of which this process may not know.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, frozenset[str]] = {}

    def of(self, pool: Pool, tenant: str, budget_ms: int) -> tuple[str, ...]:
        """Return all languages that there are, or were; none: there are no entries."""
        limit_ms = str(min(budget_ms, _MOST_MS))
        try:
            with at_once(pool) as conn:
                conn.execute(_BY_INDEX, {"ms": limit_ms}, prepare=True)
                rows = conn.execute(_LANGUAGES, {"tenant": tenant}, prepare=True)
                told = [row[0] for row in rows.fetchall()]
        except DatabaseQueryError as exc:
            # Every language is as right, and takes longer.
            log.warning("languages_not_read", code=exc.error_code)
            return ()
        found = frozenset(one for one in told if one is not None)
        with self._lock:
            found |= self._seen.pop(tenant, frozenset())
            while len(self._seen) >= _KEPT_TENANTS:
                del self._seen[next(iter(self._seen))]
            self._seen[tenant] = found
        if None in told:
            return ()
        return tuple(sorted(found))
