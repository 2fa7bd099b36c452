"""Answers to known hits: planned, sent to the workers of answers, and watched."""

import asyncio
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from uuid import UUID

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.search.event_watch import JobWatch
from api.search.schemas.synthesize import SynthesisRequest
from shared.ids import uuid7
from shared.language_models.chosen_model import Purpose
from shared.messaging import fan_out
from shared.search.jobs import job as jobs
from shared.search.jobs import synthesis_request
from shared.search.jobs.job import StoredJob
from shared.search.query import modes, wanted_answer
from shared.search.query.modes import Chosen
from shared.search.query.plan import Plan, SearchQuery
from shared.search.query.result_detail import Synthesis, Writer
from shared.search.response.search import make_job
from shared.text import door


@dataclass(frozen=True, slots=True)
class SentSynthesis:
    """An answer on its way: its plan, who hears of it, and until when."""

    job_id: UUID
    plan: Plan
    purpose: Purpose
    watch: AbstractContextManager[JobWatch]
    # Monotonic.
    ends_at: float


async def send_synthesis(
    ctx: ApiContext,
    caller: CallerInfo,
    body: SynthesisRequest,
    stored: StoredJob | None,
) -> SentSynthesis:
    """Send for an answer, and begin to watch before it is begun."""
    looks = Synthesis(
        ctx.settings.synthesis.max_sources,
        body.include_citations,
        body.citation_style,
        body.synthesize,
    )
    plan = _plan(ctx, caller, body, stored, looks)
    job_id = uuid7()
    watch = ctx.searches.events.watch(job_id)
    await asyncio.to_thread(_send, ctx, caller, plan, job_id, body)
    purpose: Purpose = "rag" if plan.method == modes.RAG else "synthesis"
    ends_at = time.monotonic() + plan.deadline_ms / 1000
    return SentSynthesis(job_id, plan, purpose, watch, ends_at)


def _plan(
    ctx: ApiContext,
    caller: CallerInfo,
    body: SynthesisRequest,
    stored: StoredJob | None,
    looks: Synthesis,
) -> Plan:
    limits = ctx.searches.limits.answers
    if stored is not None:
        plan = Plan.from_values(stored.plan)
        mode = modes.MODES.get(plan.method, modes.MODES["hybrid"])
        if plan.method == modes.RAG and limits.rag is not None:
            mode = limits.rag
    else:
        question = SearchQuery(
            door.admit(body.query or "", "query"),
            mode="hybrid",
            limit=max(1, len(body.entry_ids)),
            synthesize=False,
        )
        plan = ctx.searches.plan(question, caller.scope)
        mode = modes.MODES["hybrid"]
    chosen = Chosen(mode.name, mode, "an answer was asked for")
    # Where no model may word it, the answer without one is all that is told.
    is_worded = looks.by == "llm" and limits.may_word(mode, caller.scope)
    by: Writer = "llm" if is_worded else "deterministic"
    wanted = wanted_answer.want_answer(by, looks, limits, chosen, caller.scope)
    return replace(
        plan,
        scope=caller.scope,
        fault=None,
        deadline_ms=limits.model_ms,
        detail=replace(plan.detail, synthesis=wanted),
    )


def _send(
    ctx: ApiContext,
    caller: CallerInfo,
    plan: Plan,
    job_id: UUID,
    body: SynthesisRequest,
) -> None:
    job = make_job(plan, job_id, ctx.clock.now())
    job = replace(job, branches=0, ends_in_chord=False)
    jobs.open_job(ctx.jobs, job)
    asked = synthesis_request.SynthesisRequest(body.job_id, tuple(body.entry_ids))
    synthesis_request.store_request(ctx.jobs, job_id, asked)
    headers = {"deadline": job.deadline, fan_out.WATCHED: False, **caller.trace}
    fan_out.send_synthesis(ctx.app, job_id, headers)
