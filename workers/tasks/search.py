"""Branches of searches; the last one of a flat search ends it."""

import functools
from dataclasses import replace
from uuid import UUID

from shared.embedding.switch import second_model
from shared.errors import LogchordError, MessageRejectedError
from shared.log import get_logger
from shared.messaging import task_names
from shared.messaging.broker_errors import translate_broker_errors
from shared.search.jobs import close_job, outcome, progress, redis_keys, stored_outcomes
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Outcome
from shared.search.pipelines import run_pipeline
from shared.search.query import deadline_shares
from shared.search.query.modes import AGENT
from shared.search.query.plan import Plan
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.branch.retry import Paces
from shared.search.retrieval.branch.single_flight import InFlight
from shared.search.retrieval.installed_modules import unit_of
from workers.runtime import worker_metrics
from workers.runtime.context import Context
from workers.runtime.task import attempt as classified
from workers.runtime.task import task
from workers.tasks import agent, answer

log = get_logger()

# So many questions that the encoder does not speak, each within a week of the last one,
# begin the second one: a single one may be a guest's, and it reads every entry.
UNSPOKEN_QUESTIONS, UNSPOKEN_SECONDS = 3, 7 * 86_400

# The branches of a search come together: its plan is read once.
_plan = functools.lru_cache(maxsize=16)(Plan.from_json)


@task(task_names.RUN_BRANCH)
def run_branch(ctx: Context, job_id: UUID, branch_no: int) -> None:
    """Carry out one branch and count it; the last one ends the search."""
    job = jobs.load_job(ctx.redis, job_id)
    if job is None:
        # It was cancelled. Or Redis was emptied: the API answers at the deadline, the
        # finisher closes.
        log.warning("branch_without_job", job_id=str(job_id), branch_no=branch_no)
        return
    plan = _plan(job.plan)
    if plan.method == AGENT:
        agent.carry_out(ctx, job, plan, branch_no)
        return
    if not 0 <= branch_no < len(plan.branches):
        raise MessageRejectedError(technical=f"there is no branch {branch_no}")
    events_until = answer.events_until(ctx, job)
    if events_until is not None:
        name = plan.branches[branch_no]
        part = plan.part_of(branch_no)
        progress.branch_started(ctx.redis, job_id, name, part, until=events_until)
    outcomes = _carry_out(ctx, job, plan, branch_no)
    answer_end = deadline_shares.answer_end(job.deadline, plan.deadline_ms)
    grace_end = job.deadline + close_job.GRACE_SECONDS
    # After it, a silent branch is counted as missed.
    if ctx.clock.now() <= (grace_end if job.submitted else answer_end):
        for one in outcomes:
            worker_metrics.branch_done(one.name, one.status, one.took_ms / 1000)
    ctx.checkpoint("before_keep")
    ended = stored_outcomes.store_outcomes(
        ctx.redis,
        job_id,
        branch_no,
        outcomes,
        # The body of a chord reads them by itself.
        awaited=0 if job.ends_in_chord else job.branches,
        deadline=job.deadline,
        mailbox=ctx.headers.get("mailbox"),
        events_until=events_until,
    )
    ctx.checkpoint("after_keep")
    if ended is not None:
        answer.end_job(ctx, job, plan, ended)
    if any(one.reason == "language" for one in outcomes):
        _note_unspoken_question(ctx)


def _note_unspoken_question(ctx: Context) -> None:
    """Begin the second model once enough questions were in no language of the first."""
    pipe = ctx.redis.pipeline(transaction=False)
    pipe.incr(redis_keys.UNSPOKEN)
    pipe.expire(redis_keys.UNSPOKEN, UNSPOKEN_SECONDS)
    try:
        with translate_broker_errors():
            number, _ = pipe.execute()
        if number >= UNSPOKEN_QUESTIONS:
            second_model.begin_if_needed(ctx.pool, ctx.settings, is_asked=True)
    except LogchordError as exc:
        # The search has been answered; the next questions try again.
        log.warning("second_model_not_begun", code=exc.error_code)


def _carry_out(ctx: Context, job: Job, plan: Plan, branch_no: int) -> list[Outcome]:
    branch = Branch(
        plan=plan.of_branch(branch_no),
        name=plan.branches[branch_no],
        part=plan.part_of(branch_no),
        ends_at=deadline_shares.branch_end(job.deadline, plan.deadline_ms),
        now=ctx.clock.now,
        queued_ms=round(max(0.0, ctx.clock.now() - job.created) * 1000, 3),
        paces=ctx.kept("branch_paces", Paces),
    )
    outcomes: list[Outcome] = []
    in_flight: InFlight = ctx.kept("branches_in_flight", InFlight)

    def carry_out() -> None:
        # The plan holds the caller's rights too: who may see less asks another thing.
        found = in_flight.once(
            (job.plan, branch_no),
            lambda: run_pipeline.carry_out_branch(ctx.search_context, branch),
            branch.ends_at - branch.now(),
        )
        outcomes.extend(replace(one, queued_ms=branch.queued_ms) for one in found)

    # Whatever goes wrong in a module is this branch's outcome, never the search's.
    error = classified(carry_out)
    if error is not None:
        unit = unit_of(branch.name)
        failed = outcome.make_failure(branch.name, unit, error)
        outcomes.append(replace(failed, part=branch.part))
    return outcomes
