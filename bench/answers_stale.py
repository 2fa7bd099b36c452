"""Values that were replaced: an answer that states one says so, and is no grade A."""

from collections.abc import Callable
from typing import LiteralString

from bench.answer_questions import KnownQuestion
from bench.answers_corpus import SAMPLE
from shared.answers import compose_answer
from shared.answers.answer_question import PreparedAnswer
from shared.postgres.pool import connection
from shared.search.retrieval.search_context import SearchContext

_MOST = 100
_REPLACED: LiteralString = """
    SELECT device, parameter
      FROM entry_quantity
     WHERE tenant = %s AND device IS NOT NULL AND parameter IS NOT NULL
     GROUP BY device, parameter, dimension
    HAVING count(DISTINCT value) > 1 AND count(DISTINCT entry_id) > 1
     ORDER BY device, parameter
     LIMIT %s"""


def show(
    context: SearchContext, ask: Callable[[KnownQuestion], PreparedAnswer | None]
) -> list[str]:
    """Ask for each value that was replaced; return what is told as if it still held."""
    with connection(context.pool) as conn:
        rows = conn.execute(_REPLACED, (SAMPLE, _MOST)).fetchall()
    told, failures = 0, []
    for device, parameter in rows:
        text = f"What is the {parameter} of {device}?"
        prepared = ask(KnownQuestion("replaced", "howmany", SAMPLE, text))
        if prepared is None or prepared.answer.context.status != "grounded":
            continue
        quotes = {one.quote for one in prepared.answer.context.evidence}
        stale = {
            one.candidate.place
            for one in prepared.sentences
            if one.candidate.text in quotes
            and compose_answer.is_replaced(one, prepared.values)
        }
        if not stale:
            continue
        told += 1
        notes = (prepared.answer.text or "").count("(replaced on ")
        if notes < len(stale) or prepared.answer.context.grade == "A":
            failures.append(f"replaced: {text} {prepared.answer.text}")
    print(
        f"replaced values: {len(rows)} asked for, {told} answers state an older one,"
        f" {told - len(failures)} of them say by what it was replaced"
    )
    return failures
