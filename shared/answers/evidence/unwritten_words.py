"""Which words of a question stand in no entry that its caller may see."""

from collections.abc import Sequence
from typing import LiteralString

from shared.access import rights
from shared.access.scope import Scope
from shared.answers.question.question import Question
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool
from shared.postgres.statement_deadline import timed_pipeline
from shared.text.analysis.analyser import IDENT_PREFIX, quote_lexeme

log = get_logger()

# Each word by the index of words, then its entries until the caller may see one. Left
# to join as it likes, the database walks through all entries of a large logbook.
WRITTEN: LiteralString = f"""
    SELECT w.place
      FROM unnest(%(asked)s::text[]) WITH ORDINALITY AS w (asked, place)
     WHERE EXISTS (
           WITH held AS MATERIALIZED (
                SELECT t.entry_id
                  FROM entry_text t
                 WHERE t.tenant = %(tenant)s AND t.tsv @@ w.asked::tsquery)
           SELECT FROM held
             JOIN entry e ON e.id = held.entry_id
            WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN})
     LIMIT 64"""


def find_unwritten_words(
    pool: Pool, question: Question, words: Sequence[str], scope: Scope, timeout_ms: int
) -> tuple[str, ...]:
    """Return the words that no entry has; none of them if that is not known in time."""
    if not words or timeout_ms <= 0:
        return ()
    asked = [_in_any_language(question, word) for word in words]
    try:
        with timed_pipeline(pool, timeout_ms, one_plan=True) as conn:
            given = {"asked": asked, **scope.params}
            rows = conn.execute(WRITTEN, given, prepare=True).fetchall()
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("unwritten_words_not_read", code=exc.error_code)
        return ()
    written = {place for (place,) in rows}
    return tuple(word for place, word in enumerate(words, 1) if place not in written)


def _in_any_language(question: Question, word: str) -> str:
    terms = question.terms_of(word)
    forms = sorted({*terms, *(f"{IDENT_PREFIX}{term}" for term in terms)})
    return " | ".join(map(quote_lexeme, forms))
