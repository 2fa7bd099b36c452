"""Reads the newest entries that have all words of a question, or words that mean them.

A search ranks by words: of a hundred trips it brings ten, and seldom the last one. Of
entries in another language it finds few.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from typing import LiteralString
from uuid import UUID

from shared.access import rights
from shared.answers.question.question import Question
from shared.entries.draft import FUTURE
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
# Words that are frequent are found among so many of the last entries, and of rarer ones
# so many are put in order: either alone would read all of a large logbook.
LOOKED_THROUGH, MOST_HELD = 2000, 5000
# A single word of these stands in half a logbook.
_LEAST_TRANSLATED = 2
# An answer can do without them.
TIMEOUT_MS = 100
_FIRST: LiteralString = f"""{rights.SEEN}{NARROWED}
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""
# A date in the future is most likely a mistake.
AMONG_THE_LAST: LiteralString = f"""
    SELECT e.id
      FROM (SELECT l.id
              FROM entry l
             WHERE l.tenant = %(tenant)s AND l.deleted_at IS NULL
               AND l.entry_time < %(ahead)s
             ORDER BY l.entry_time DESC, l.id DESC
             LIMIT %(looked_through)s) AS last
      JOIN entry_text t ON t.entry_id = last.id AND t.tenant = %(tenant)s
      JOIN entry e ON e.id = last.id AND e.tenant = %(tenant)s
     WHERE e.deleted_at IS NULL AND t.tsv @@ %(asked)s::tsquery{_FIRST}"""
BY_WORDS: LiteralString = f"""
    WITH held AS MATERIALIZED (
         SELECT t.entry_id
           FROM entry_text t
          WHERE t.tenant = %(tenant)s AND t.tsv @@ %(asked)s::tsquery
          LIMIT %(held)s)
    SELECT e.id
      FROM held
      JOIN entry e ON e.id = held.entry_id
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND e.entry_time < %(ahead)s{_FIRST}"""


def read_newest_matches(
    pool: Pool, plan: Plan, question: Question, timeout_ms: int, most: int = NEWEST
) -> list[HitRow]:
    """Return the newest entries with each word of a question, or one for that deed.

    None of them if that is not known in time: the hits are there in any case.
    """
    asked = [" & ".join(_list_wanted(question))]
    return _read(pool, plan, (AMONG_THE_LAST, BY_WORDS), asked, timeout_ms, most)


def read_translated_matches(
    pool: Pool, plan: Plan, question: Question, timeout_ms: int
) -> list[HitRow]:
    """Return entries in other languages with the words for what a question asks.

    A search for `Bunchl\u00e4nge` finds no `bunch length`. Those with all that everyday
    words translate come first, then those with all but one.
    """
    asked_for = plan.detail.synthesis
    if asked_for is None or asked_for.style == "numeric":
        # A number is a place among the results.
        return []
    wanted = [*_list_translated(question)]
    if len(wanted) < _LEAST_TRANSLATED:
        return []
    asked = [" & ".join(wanted)]
    if len(wanted) > _LEAST_TRANSLATED:
        rests = combinations(wanted, len(wanted) - 1)
        asked.append(" | ".join(f"({' & '.join(one)})" for one in rests))
    return _read(pool, plan, (BY_WORDS,), asked, timeout_ms, NEWEST)


def _read(
    pool: Pool,
    plan: Plan,
    statements: Sequence[LiteralString],
    asked: Sequence[str],
    timeout_ms: int,
    most: int,
) -> list[HitRow]:
    """Return entries that statements find by queries, until there are enough."""
    most_ms = min(timeout_ms, TIMEOUT_MS)
    if not asked[0] or most_ms <= 0:
        return []
    given = {
        **plan.scope.params,
        **plan.filters.params,
        "most": most,
        "looked_through": LOOKED_THROUGH,
        "held": MOST_HELD,
        "ahead": datetime.now(UTC) + FUTURE,
    }
    ids: dict[UUID, None] = {}
    try:
        with timed_connection(pool, most_ms) as conn:
            for query, statement in product(asked, statements):
                if len(ids) < most:
                    rows = conn.execute(statement, {**given, "asked": query})
                    ids |= dict.fromkeys(entry_id for (entry_id,) in rows)
            found = hydrate(conn, [*ids], plan.scope, most_ms)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("newest_matches_not_read", code=exc.error_code)
        return []
    return [found[entry_id] for entry_id in ids if entry_id in found]


def _list_translated(question: Question) -> Iterator[str]:
    """Yield for each word that is known in other languages the lexemes for it there."""
    for word in question.words:
        parts = question.list_translated(word)
        if parts:
            either = (" | ".join(map(quote_lexeme, sorted(one))) for one in parts)
            yield " & ".join(f"({one})" for one in either)


def _list_wanted(question: Question) -> Iterator[str]:
    """Yield for each word and number the lexemes of which an entry has one."""
    for word in question.words:
        idents = {f"{IDENT_PREFIX}{term}" for term in question.terms_of(word)}
        forms = sorted(question.terms_meant(word) | idents)
        yield f"({' | '.join(map(quote_lexeme, forms))})"
    for thing in question.things:
        yield quote_lexeme(thing.number)
