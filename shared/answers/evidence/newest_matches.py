"""Reads the newest entries that have all words of a question of the last time.

A search ranks by words: of a hundred trips it brings ten, and seldom the last one.
"""

from collections.abc import Iterator
from typing import LiteralString

from shared.access import rights
from shared.answers.question.question import Question
from shared.entries.reading.filter_sql import NARROWED
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool
from shared.postgres.statement_deadline import timed_connection
from shared.search.query.plan import Plan
from shared.search.results.hydrate import HitRow, hydrate
from shared.text.analysis.analyser import IDENT_PREFIX, quote_lexeme

log = get_logger()

NEWEST = 5
# An answer can do without them.
TIMEOUT_MS = 100
# A date in the future is most likely a mistake.
_NEWEST: LiteralString = f"""
    SELECT e.id
      FROM entry e
      JOIN entry_text t ON t.entry_id = e.id
     WHERE e.tenant = %(tenant)s AND t.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND e.entry_time <= statement_timestamp() + interval '1 day'
       AND t.tsv @@ %(asked)s::tsquery{rights.SEEN}{NARROWED}
     ORDER BY e.entry_time DESC, e.id
     LIMIT %(most)s"""


def read_newest_matches(
    pool: Pool, plan: Plan, question: Question, timeout_ms: int
) -> list[HitRow]:
    """Return the newest entries with each word of a question, or one for that deed.

    None of them if that is not known in time: the hits are there in any case.
    """
    asked = " & ".join(_list_wanted(question))
    most_ms = min(timeout_ms, TIMEOUT_MS)
    if not asked or most_ms <= 0:
        return []
    given = {**plan.scope.params, **plan.filters.params}
    try:
        with timed_connection(pool, most_ms) as conn:
            found = conn.execute(_NEWEST, {**given, "asked": asked, "most": NEWEST})
            ids = [entry_id for (entry_id,) in found]
            rows = hydrate(conn, ids, plan.scope, most_ms)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("newest_matches_not_read", code=exc.error_code)
        return []
    return [rows[entry_id] for entry_id in ids if entry_id in rows]


def _list_wanted(question: Question) -> Iterator[str]:
    """Yield for each word and number the lexemes of which an entry has one."""
    for word in question.words:
        terms = question.terms_of(word)
        idents = {f"{IDENT_PREFIX}{term}" for term in terms}
        forms = sorted({*terms, *idents, *question.terms_alike(word)})
        yield f"({' | '.join(map(quote_lexeme, forms))})"
    for thing in question.things:
        yield quote_lexeme(thing.number)
