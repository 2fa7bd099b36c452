"""The end of a search: of a flat one with its last branch, else as a chord's body."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from shared.answers.answer_question import Preparing
from shared.cards.make_cards import make_cards
from shared.log import get_logger
from shared.messaging.task_names import END_SEARCH
from shared.search.jobs import job as jobs
from shared.search.jobs import progress
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.response import end_search as ending
from workers.runtime import worker_metrics
from workers.runtime.context import Context
from workers.runtime.task import task
from workers.tasks import worded

log = get_logger()


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
    preparing = Preparing()
    beside = ending.Beside(preparing, make_cards)
    ended = ending.end_search(ctx.search_context, job, plan, outcomes, beside)
    prepared, until = preparing.prepared, events_until(ctx, job)
    is_worded = ended.answer is not None and prepared is not None and _by_model(plan)
    if is_worded and prepared is not None:
        ended = worded.word(ctx, job, plan, ended, prepared, until)
    mailbox = ctx.headers.get("mailbox")
    if mailbox:
        ending.tell(ctx.redis, mailbox, job, ended)
    ctx.checkpoint("before_store")
    if ending.store(ctx.pool, job, ended):
        worker_metrics.search_ended(ended)
    if until is not None:
        said = {"answered": is_worded}
        progress.tell_event(ctx.redis, job.job_id, progress.ENDED, said, until=until)


def events_until(ctx: Context, job: Job) -> int | None:
    """Return how long its progress is kept; nobody can look on at a direct search."""
    if not job.submitted:
        return None
    return worded.kept_until(ctx, job)


def _by_model(plan: Plan) -> bool:
    wanted = plan.detail.synthesis
    return wanted is not None and wanted.by == "llm" and plan.ends_in_chord
