"""Counts the matches that the caller may not see, and tells nothing else of them."""

from typing import LiteralString

from shared.access import rights
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import list_cuts
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.search.retrieval.modules import match_sql

# How many are counted; beyond, the answer says that there are at least so many.
MOST = 1000

_UNSEEN: LiteralString = rights.unseen("e")
_COUNT: LiteralString = """
    SELECT count(*)
      FROM (SELECT FROM matched LIMIT %(most)s) AS hidden"""


def count(ask: Ask, lexicon: Lexicon) -> int | None:
    """Count hidden entries that match by words or pass the filters; None: unknown.

    A search by meaning alone has no matches to count, and a question that was cut would
    count those of another question.
    """
    plan = ask.plan
    if plan.method == "semantic":
        return None
    asked = branch_query.by_all_words(ask, lexicon, "hidden")
    if list_cuts((*plan.diagnostics, *asked.diagnostics)):
        return None
    if plan.asks_for_words and not asked.question.finds:
        return 0
    given = {**match_sql.params(asked, asked.question), "most": MOST}
    by_words = plan.asks_for_words
    statement = match_sql.statement(_COUNT, by_words=by_words, whose=_UNSEEN)
    with timed_connection(lexicon.pool, ask.budget_ms) as conn:
        return int(fetch_value(conn, statement, given) or 0)
