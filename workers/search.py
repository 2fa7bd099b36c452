"""Branches of searches; the last one of a flat search ranks and answers."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from math import ceil
from uuid import UUID

from shared import broker
from shared.embedding import names, skipping
from shared.embedding.in_use import InUse
from shared.embedding.sizes import Sizes
from shared.embedding.tables import EmbeddingModel
from shared.errors import MessageRejectedError
from shared.jobs import closing, outcome, progress
from shared.jobs import job as jobs
from shared.jobs.job import Job
from shared.jobs.outcome import Kept, Outcome
from shared.log import get_logger
from shared.pipelines import running
from shared.query import budget
from shared.query.plan import Plan
from shared.results import finish, reranking
from shared.retrieval import attempt, semantic
from shared.retrieval.attempt import Branch
from shared.retrieval.circuit import Circuit
from shared.retrieval.freshness import Freshness
from shared.retrieval.in_flight import InFlight
from shared.retrieval.installed import unit_of
from shared.retrieval.module import Tools
from shared.retrieval.query_vectors import QueryVectors
from shared.retrieval.second_attempt import Paces
from shared.retrieval.written_in import WrittenIn
from shared.vocabulary.present import Present
from workers import metrics
from workers.context import Context
from workers.task import attempt as classified
from workers.task import task

log = get_logger()

# The branches of a search come together: its plan is read once.
_plan = functools.lru_cache(maxsize=16)(Plan.from_json)


@task(broker.RUN_BRANCH)
def run_branch(ctx: Context, job_id: UUID, branch_no: int) -> None:
    """Carry out one branch and count it; the last one ranks and answers."""
    job = jobs.read(ctx.redis, job_id)
    if job is None:
        # It was cancelled. Or Redis was emptied: the API answers at the deadline, the
        # finisher closes.
        log.warning("branch_without_job", job_id=str(job_id), branch_no=branch_no)
        return
    plan = _plan(job.plan)
    if not 0 <= branch_no < len(plan.branches):
        raise MessageRejectedError(technical=f"there is no branch {branch_no}")
    events_until = _events_until(ctx, job)
    if events_until is not None:
        name = plan.branches[branch_no]
        progress.branch_started(ctx.redis, job_id, name, until=events_until)
    outcomes = _carry_out(ctx, job, plan, branch_no)
    if ctx.clock.now() <= _missed_after(job, plan):
        for one in outcomes:
            metrics.branch_done(one.name, one.status, one.took_ms / 1000)
    ctx.checkpoint("before_keep")
    kept = outcome.keep(
        ctx.redis,
        job_id,
        branch_no,
        outcomes,
        total=job.branches,
        deadline=job.deadline,
        mailbox=ctx.headers.get("mailbox"),
        events_until=events_until,
    )
    ctx.checkpoint("after_keep")
    if kept.missing == 0:
        ctx.checkpoint("before_answer", job_id)
        _answer(ctx, job, plan, kept)


def _missed_after(job: Job, plan: Plan) -> float:
    """Return when a branch that told nothing is counted by whoever ends its job."""
    if job.submitted:
        return job.deadline + closing.GRACE_SECONDS
    return budget.answer_end(job.deadline, plan.deadline_ms)


def _events_until(ctx: Context, job: Job) -> int | None:
    """Return how long its progress is kept; nobody can look on at a direct search."""
    if not job.submitted:
        return None
    return ceil(job.deadline) + ctx.settings.event_retention_minutes * 60


def _carry_out(ctx: Context, job: Job, plan: Plan, branch_no: int) -> list[Outcome]:
    branch = Branch(
        plan=plan,
        name=plan.branches[branch_no],
        ends_at=budget.branch_end(job.deadline, plan.deadline_ms),
        now=ctx.clock.now,
        queued_ms=round(max(0.0, ctx.clock.now() - job.created) * 1000, 3),
        paces=ctx.kept("branch_paces", Paces),
    )
    outcomes: list[Outcome] = []
    together: InFlight = ctx.kept("branches_in_flight", InFlight)

    def carry_out() -> None:
        # The plan holds the caller's rights too: who may see less asks another thing.
        found = together.once(
            (job.plan, branch_no),
            lambda: _searched(ctx, branch),
            branch.ends_at - branch.now(),
        )
        outcomes.extend(replace(one, queued_ms=branch.queued_ms) for one in found)

    # Whatever goes wrong in a module is this branch's outcome, never the search's.
    error = classified(carry_out)
    if error is not None:
        unit = unit_of(branch.name)
        outcomes.append(outcome.failure(branch.name, unit, error))
    return outcomes


def _searched(ctx: Context, branch: Branch) -> list[Outcome]:
    composed = ctx.settings.pipelines.plugins.get(branch.name)
    if composed is None:
        return attempt.carry_out(branch, lambda: _tools(ctx))
    return running.carry_out(branch, lambda: _tools(ctx), composed.retrieval_modules)


def _answer(ctx: Context, job: Job, plan: Plan, kept: Kept) -> None:
    def named(model: str) -> EmbeddingModel | None:
        return _tools(ctx).models.named(model)

    def rerank_model() -> reranking.Model:
        return reranking.Model(lambda: ctx.cross_encoder, Circuit(time.monotonic))

    tools = finish.Tools(
        lambda: ctx.pool,
        ctx.clock.now,
        ctx.signer,
        ctx.facility,
        ctx.kept("rerank_model", rerank_model),
        named,
    )
    finished = finish.finish(tools, job, plan, kept.outcomes)
    mailbox = ctx.headers.get("mailbox")
    if mailbox:
        finish.tell(ctx.redis, mailbox, job, finished)
    ctx.checkpoint("before_store")
    if finish.store(lambda: ctx.pool, job, finished):
        metrics.job_ended(finished.state)


def _tools(ctx: Context) -> Tools:
    def make() -> Tools:
        chosen = ctx.settings.search_modules.semantic.settings
        return Tools(
            pool=ctx.pool,
            opensearch=lambda: ctx.opensearch,
            index=ctx.settings.opensearch_index,
            similarity_threshold=semantic.chosen_floor(chosen.similarity_threshold),
            models=InUse(ctx.pool, time.monotonic),
            encoder=ctx.encoder,
            query_vectors=QueryVectors(),
            freshness=Freshness(time.monotonic),
            circuit=Circuit(time.monotonic),
            facility=ctx.facility,
            speaks=lambda model: skipping.spoken(model, ctx.settings),
            told_dimension=lambda model: names.told_dimension(model, ctx.settings),
            sizes=Sizes(time.monotonic),
            present=Present(time.monotonic),
            written_in=WrittenIn(),
        )

    return ctx.kept("search_tools", make)  # type: ignore[no-any-return]
