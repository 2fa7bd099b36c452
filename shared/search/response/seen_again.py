"""Checks a response that took long against what its caller may see by now."""

from dataclasses import replace
from uuid import UUID

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.search.query.plan import Plan
from shared.search.response.answer import Answer
from shared.search.response.pinned_answer import read_pinned_answer
from shared.search.response.search_answer import SearchAnswer
from shared.search.results.hydrate import hydrate

log = get_logger()

_READ_MS = 400
_GONE = "An entry that the answer rested on was removed, or closed to you, meanwhile."


def see_answer_again(pool: Pool, plan: Plan, answer: Answer) -> Answer:
    """Return an answer as it may be shown now: marked, or without its words.

    A model takes seconds: entries that it was given may be deleted, edited or closed by
    then.
    """
    rests_on = {one.entry_id for one in answer.citations}
    rests_on |= {one.entry_id for one in answer.context.evidence}
    ids = [UUID(one) for one in sorted(rests_on)]
    seen: Answer | None = None
    try:
        with connection(pool) as conn:
            rows = hydrate(conn, ids, plan.scope, _READ_MS)
        if len(rows) == len(ids):
            seen = answer
            if answer.citations:
                seen = read_pinned_answer(pool, plan.scope, answer.to_json(), _READ_MS)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("answer_not_seen_again", code=exc.error_code)
        return answer
    if seen is not None:
        return seen
    context = replace(
        answer.context,
        status="insufficient",
        code="no_results",
        summary=_GONE,
        grade="D",
        evidence=[],
        citations=[],
        questions=[],
    )
    return replace(
        answer,
        text=None,
        source=None,
        citation_mode="none",
        citations=[],
        context=context,
    )


def see_hits_again(pool: Pool, plan: Plan, response: SearchAnswer) -> SearchAnswer:
    """Return a response without the hits that the caller cannot see any more."""
    ids = [UUID(one.entry_id) for one in response.results]
    try:
        with connection(pool) as conn:
            rows = hydrate(conn, ids, plan.scope, _READ_MS)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("hits_not_seen_again", code=exc.error_code)
        return response
    left = [one for one in response.results if UUID(one.entry_id) in rows]
    return replace(response, results=left)
