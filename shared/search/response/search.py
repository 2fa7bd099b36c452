"""Carries out a whole search in one process: every branch, then the end."""

from typing import Any
from uuid import UUID

from shared.ids import uuid7
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import FACETS, Outcome
from shared.search.pipelines import run_pipeline
from shared.search.query import deadline_shares
from shared.search.query.plan import Plan
from shared.search.response.end_search import HITS_ALONE, Beside, end_search
from shared.search.response.respond import nothing_asked
from shared.search.response.search_answer import SearchAnswer
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.search_context import SearchContext


def search(
    context: SearchContext, plan: Plan, beside: Beside = HITS_ALONE
) -> SearchAnswer:
    """Carry out the branches one after the other, and end the search with them.

    It uses no broker and keeps no job. Raises where the whole search fails.
    """
    if not plan.branches:
        return nothing_asked(plan)
    job = make_job(plan, uuid7(), context.now())
    arrived = carry_out_branches(context, plan, job.deadline)
    ended = end_search(context, job, plan, arrived, beside)
    if ended.error is not None:
        raise ended.error
    assert ended.answer is not None
    return ended.answer


def count_facets(context: SearchContext, plan: Plan) -> dict[str, Any] | None:
    """Carry out the branch that counts, and no other; None: it failed or was late."""
    if FACETS not in plan.branches:
        return {}
    deadline = context.now() + plan.deadline_ms / 1000
    number = plan.branches.index(FACETS)
    *_, counted = _carry_out_branch(context, plan, number, deadline)
    return None if counted.unsearched else counted.counts or {}


def make_job(
    plan: Plan, job_id: UUID, created: float, *, submitted: bool = False
) -> Job:
    """Make the job of a plan, from when it was asked for, by the broker's clock."""
    return Job(
        job_id=job_id,
        tenant=plan.scope.tenant,
        subject=plan.scope.subject,
        key_id=plan.scope.key_id,
        plan=plan.to_json(),
        branches=len(plan.branches),
        created=created,
        deadline=created + plan.deadline_ms / 1000,
        submitted=submitted,
        ends_in_chord=plan.ends_in_chord,
    )


def carry_out_branches(
    context: SearchContext, plan: Plan, deadline: float
) -> dict[int, list[Outcome]]:
    """Carry out the branches of a plan; return their outcomes by branch number."""
    return {
        number: _carry_out_branch(context, plan, number, deadline)
        for number in range(len(plan.branches))
    }


def _carry_out_branch(
    context: SearchContext, plan: Plan, number: int, deadline: float
) -> list[Outcome]:
    branch = Branch(
        plan.of_branch(number),
        plan.branches[number],
        deadline_shares.branch_end(deadline, plan.deadline_ms),
        context.now,
        part=plan.part_of(number),
    )
    return run_pipeline.carry_out_branch(context, branch)
