"""The heavy end of a search: a model words the answer that stands without it."""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any
from uuid import UUID

import redis

from shared.answers.answer_question import PreparedAnswer
from shared.answers.worded.model_tier import Listener, ModelTier
from shared.language_models import quota
from shared.language_models.quota import Quota
from shared.search.jobs import job as jobs
from shared.search.jobs import progress
from shared.search.jobs.job import Job
from shared.search.query import deadline_shares
from shared.search.query.plan import Plan
from shared.search.response import answer_events, seen_again
from shared.search.response import end_search as ending
from shared.search.response.answer import Answer
from shared.search.response.end_search import EndedSearch
from workers.runtime import worker_metrics
from workers.runtime.context import Context

# So often it is looked whether anybody still waits.
_LOOK_SECONDS = 0.3


@dataclass(slots=True)
class Audience:
    """The watchers of a job, and whether they still wait."""

    client: redis.Redis
    job_id: UUID
    # Epoch seconds until which events are kept; None: nobody can watch.
    until: int | None
    looked_at: float = field(default_factory=time.monotonic)
    is_gone: bool = False

    def tell(self, name: str, says: Mapping[str, Any]) -> None:
        """Tell the watchers an event."""
        if self.until is not None:
            progress.tell_event(self.client, self.job_id, name, says, until=self.until)

    def hand_on(self, chunk: Mapping[str, Any]) -> None:
        """Tell what a model has just said."""
        self.tell("llm_chunk", chunk)

    def has_left(self) -> bool:
        """Tell whether the job was cancelled; Redis is asked now and then."""
        now = time.monotonic()
        if not self.is_gone and now - self.looked_at > _LOOK_SECONDS:
            self.looked_at = now
            self.is_gone = jobs.is_forgotten(self.client, self.job_id)
        return self.is_gone


def kept_until(ctx: Context, job: Job) -> int:
    """Return until when the events of a job that may be watched are kept."""
    return ceil(job.deadline) + ctx.settings.event_retention_minutes * 60


def word(
    ctx: Context,
    job: Job,
    plan: Plan,
    ended: EndedSearch,
    prepared: PreparedAnswer,
    until: int | None,
) -> EndedSearch:
    """Return the search with its answer worded by a model."""
    assert ended.answer is not None
    audience = Audience(ctx.redis, job.job_id, until)
    response = ended.answer.to_json()
    audience.tell("results", answer_events.without_answer(response))
    ends_at = deadline_shares.branch_end(job.deadline, plan.deadline_ms)
    answer = word_answer(ctx, plan, prepared, audience, ends_at)
    ended = ending.reword(plan, ended, answer)
    assert ended.answer is not None
    seen = seen_again.see_hits_again(ctx.pool, plan, ended.answer)
    ended = replace(ended, answer=seen)
    actions = answer_events.suggest_actions(seen.to_json())
    audience.tell("actions", {"actions": actions})
    return ended


def word_answer(
    ctx: Context,
    plan: Plan,
    prepared: PreparedAnswer,
    audience: Audience,
    ends_at: float,
) -> Answer:
    """Tell the answer without a model, and return the one that a model has worded."""
    audience.tell("deterministic", answer_events.of_answer(plan, prepared.answer))
    ctx.checkpoint("before_model", audience.job_id)
    listener = Listener(audience.hand_on, audience.has_left)
    circuits = ctx.search_context.circuits
    tier: ModelTier = ctx.kept(
        "model_tier", lambda: ModelTier(ctx.settings, quota_of(ctx), circuits)
    )
    answer = tier.word(prepared, ends_at - ctx.clock.now(), listener)
    ctx.checkpoint("after_model", audience.job_id)
    if answer.model is not None:
        worker_metrics.model_asked(answer.model)
    answer = seen_again.see_answer_again(ctx.pool, plan, answer)
    audience.tell("llm_status", answer_events.of_model(plan, answer))
    return answer


def quota_of(ctx: Context) -> Callable[[str], Quota]:
    """Return a function that takes one answer of a tenant's quota."""
    synthesis = ctx.settings.synthesis
    return functools.partial(
        quota.take_answer,
        ctx.redis,
        per_day=synthesis.quota_per_day,
        per_minute=synthesis.quota_per_minute,
    )
