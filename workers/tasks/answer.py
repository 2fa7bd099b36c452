"""The end of a search: of a flat one with its last branch, else as a chord's body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from shared.answers.answer_question import answer_question
from shared.cards.make_cards import make_cards
from shared.log import get_logger
from shared.messaging.task_names import END_SEARCH
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.response import end_search as ending
from workers.runtime import worker_metrics
from workers.runtime.context import Context
from workers.runtime.task import task

log = get_logger()

_BESIDE = ending.Beside(answer_question, make_cards)


@task(END_SEARCH)
def end_search(ctx: Context, job_id: UUID) -> None:
    """End a search whose branches were the header of a chord; twice is once."""
    job = jobs.load_job(ctx.redis, job_id)
    if job is None:
        # Cancelled, or Redis was emptied: the API and the finisher end it.
        log.warning("end_without_job", job_id=str(job_id))
        return
    outcomes = jobs.outcomes(ctx.redis, job_id)
    end_job(ctx, job, Plan.from_json(job.plan), outcomes)


def end_job(
    ctx: Context, job: Job, plan: Plan, outcomes: Mapping[int, Sequence[Outcome]]
) -> None:
    """End a search with these outcomes: tell the API that waits, then store it."""
    ctx.checkpoint("before_answer", job.job_id)
    ended = ending.end_search(ctx.search_context, job, plan, outcomes, _BESIDE)
    mailbox = ctx.headers.get("mailbox")
    if mailbox:
        ending.tell(ctx.redis, mailbox, job, ended)
    ctx.checkpoint("before_store")
    if ending.store(ctx.pool, job, ended):
        worker_metrics.job_ended(ended.state)
        if ended.sentences is not None:
            worth = ended.sentences.context
            worker_metrics.answered(worth.status, worth.grade)
