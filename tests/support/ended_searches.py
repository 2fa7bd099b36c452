"""The end of a search in this process, with time enough for whatever else runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.ids import uuid7
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.response.end_search import EndedSearch, end_search
from shared.search.response.search import make_job
from shared.search.retrieval.search_context import SearchContext
from tests.support.pools import closed_pool

DEADLINE_SECONDS = 10.0


def job_of(context: SearchContext, plan: Plan) -> Job:
    """Return a job of this moment, which nobody is late for."""
    job = make_job(plan, uuid7(), context.now())
    return replace(job, deadline=job.created + DEADLINE_SECONDS)


def end(
    context: SearchContext, plan: Plan, told: Mapping[int, Sequence[Outcome]]
) -> EndedSearch:
    """End a search with these outcomes."""
    return end_search(context, job_of(context, plan), plan, told)


def body_of(
    context: SearchContext, plan: Plan, told: Mapping[int, Sequence[Outcome]]
) -> dict[str, Any]:
    """Return the body that a caller gets of a search that did not fail."""
    ended = end(context, plan, told)
    assert ended.answer is not None, ended.error
    return ended.answer.to_json()


def unasked() -> SearchContext:
    """Return a context of which nobody may ask anything."""
    return SearchContext(pool=closed_pool())
