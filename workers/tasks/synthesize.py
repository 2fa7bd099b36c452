"""An answer to hits that are known already, told event by event while it is made."""

from collections.abc import Mapping
from math import ceil
from typing import Any
from uuid import UUID

from shared.answers.answer_question import prepare_answer
from shared.log import get_logger
from shared.messaging.task_names import SYNTHESIZE
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs import progress, synthesis_request
from shared.search.jobs.synthesis_request import SynthesisRequest
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.ranked_hits import Ranked, RankedHits
from shared.search.response import answer_events
from shared.search.response.end_search import FoundPage
from shared.search.response.job_answer import JobReader, read_hits
from shared.search.results.conclude import Conclusion
from shared.search.results.result_page import ResultPage, read_page
from workers.runtime.context import Context
from workers.runtime.task import task
from workers.tasks import worded
from workers.tasks.worded import Audience

log = get_logger()

_READ_MS = 2000
# Longer than whoever asked waits for its end.
_KEPT_SECONDS = 120
# Before its deadline the last words must have been told.
_LAST_WORDS_SECONDS = 0.3


@task(SYNTHESIZE)
def synthesize(ctx: Context, job_id: UUID) -> None:
    """Answer from a job's hits or from some entries; twice is told twice."""
    job = jobs.load_job(ctx.redis, job_id)
    asked = synthesis_request.load_request(ctx.redis, job_id)
    if job is None or asked is None:
        log.warning("synthesis_without_job", job_id=str(job_id))
        return
    plan = Plan.from_json(job.plan)
    audience = Audience(ctx.redis, job_id, ceil(job.deadline) + _KEPT_SECONDS)
    plan, conclusion, page = _read(ctx, plan, asked)
    found = FoundPage(ctx.search_context, plan, conclusion, page)
    prepared = prepare_answer(found, _READ_MS)
    wanted = plan.detail.synthesis
    told: Mapping[str, Any] = answer_events.NO_ANSWER
    if prepared is not None and wanted is not None and wanted.by == "llm":
        ends_at = job.deadline - _LAST_WORDS_SECONDS
        answer = worded.word_answer(ctx, plan, prepared, audience, ends_at)
        told = answer_events.of_answer(plan, answer)
    else:
        if prepared is not None:
            told = answer_events.of_answer(plan, prepared.answer)
        audience.tell("deterministic", told)
        audience.tell("llm_status", {"status": "off", **told})
    hits = [
        {"entry_id": str(one.row.entry_id), "thread_id": one.row.thread_id}
        for one in page
    ]
    actions = answer_events.suggest_actions({**told, "results": hits})
    audience.tell("actions", {"actions": actions})
    audience.tell(progress.ENDED, {"state": conclusion.state})


def _read(
    ctx: Context, plan: Plan, asked: SynthesisRequest
) -> tuple[Plan, Conclusion, ResultPage]:
    """Return the named hits, as far as the caller may see them now."""
    if asked.of_job is not None:
        with connection(ctx.pool) as conn:
            stored = jobs.find_own_job(conn, plan.scope, asked.of_job)
        reader = JobReader(ctx.search_context, plan.scope)
        _, conclusion, page = read_hits(reader, stored)
        return plan, conclusion, page
    items = tuple(
        Ranked(
            entry_id=str(one),
            chunk_id="",
            kind="",
            revision=0,
            relevance_score=round(1 / place, 6),
            rrf=0.0,
            ranks={},
            contrib={},
            scores={},
            span=None,
        )
        for place, one in enumerate(asked.entry_ids, 1)
    )
    conclusion = Conclusion("done", (), RankedHits(items=items), degraded=False)
    return plan, conclusion, read_page(ctx.pool, plan, fold.group_runs(items), _READ_MS)
