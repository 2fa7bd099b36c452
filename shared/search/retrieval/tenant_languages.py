"""Finds the languages of a tenant's entries: a question is compiled for no others."""

import threading
from dataclasses import dataclass
from typing import LiteralString

from psycopg import Connection, Cursor

from shared.errors import DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, pipelined_connection

log = get_logger()

_KEPT_TENANTS = 1000
# Far more than the statement takes; a table full of dead rows must not use up a
# branch's time.
_MOST_MS = 50

# Forces the index, whatever the tables looked like when the statement was planned: it
# then takes a step for each language and not one for each entry.
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


class WrittenIn:
    """The languages of each tenant's entries, safe between threads.

    They are asked for in each search, so that a new language is searched at once. No
    language is forgotten: the index may still show an entry in the language in which it
    was read before, and goes on to do so where it could not be written, of which this
    process may not know.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, _CachedLanguages] = {}

    def load_languages(
        self, pool: Pool, tenant: str, budget_ms: int
    ) -> tuple[str, ...]:
        """Return all languages that entries have or had; empty without entries."""
        try:
            with pipelined_connection(pool) as conn:
                return self.fetch_languages(
                    tenant, send_languages(conn, tenant, budget_ms)
                )
        except DatabaseQueryError as exc:
            return assume_every_language(exc)

    def lately(self, tenant: str) -> tuple[str, ...] | None:
        """Return the languages that were found last; None: nobody has asked yet."""
        with self._lock:
            seen = self._seen.get(tenant)
        return None if seen is None else seen.searched

    def fetch_languages(self, tenant: str, rows: Cursor) -> tuple[str, ...]:
        """Read the languages that were asked for, and keep them."""
        told = [row[0] for row in rows.fetchall()]
        found = frozenset(one for one in told if one is not None)
        with self._lock:
            seen = self._seen.pop(tenant, None)
            if seen is not None:
                found |= seen.languages
            while len(self._seen) >= _KEPT_TENANTS:
                del self._seen[next(iter(self._seen))]
            searched = () if None in told else tuple(sorted(found))
            self._seen[tenant] = _CachedLanguages(found, searched)
        return searched


@dataclass(frozen=True, slots=True)
class _CachedLanguages:
    """The languages that a tenant's entries had, and which of them are searched."""

    languages: frozenset[str]
    searched: tuple[str, ...]


def send_languages(conn: Connection, tenant: str, budget_ms: int) -> Cursor:
    """Send the statement; its rows are read from the cursor, and may be read later."""
    limit_ms = str(min(budget_ms, _MOST_MS))
    conn.execute(_BY_INDEX, {"ms": limit_ms}, prepare=True)
    return conn.execute(_LANGUAGES, {"tenant": tenant}, prepare=True)


def assume_every_language(error: DatabaseQueryError) -> tuple[str, ...]:
    """Return the empty tuple, which stands for every language: right, but slower."""
    log.warning("languages_not_read", code=error.error_code)
    return ()
