"""Turns of agents, and their calls: each turn a row, each row's calls a chord."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from shared.agents import agent_trace, end_agent, turn_rows
from shared.agents.agent_answer import AskedModel
from shared.agents.ask_model import AgentProcess, ChatModel
from shared.agents.bounds import Bounds
from shared.agents.guarded_model import GuardedModel
from shared.agents.run_call import run_call
from shared.agents.take_turn import Ending
from shared.agents.take_turn import take_turn as taken
from shared.answers.worded.model_tier import circuit_of
from shared.cards.make_cards import make_cards
from shared.errors import ConfigurationError
from shared.language_models.chosen_model import (
    choose_model,
    find_excluded_logbooks,
    make_client,
)
from shared.log import get_logger
from shared.messaging import fan_out
from shared.messaging.task_names import TAKE_AGENT_TURN
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs import progress
from shared.search.jobs.job import Job
from shared.search.query.calendar_settings import make_calendar
from shared.search.query.plan import Plan
from shared.search.response import answer_events
from shared.search.response import end_search as ending
from shared.search.response.answer import Answer
from shared.search.response.end_search import EndedSearch
from workers.runtime import worker_metrics
from workers.runtime.context import Context
from workers.runtime.task import attempt as classified
from workers.runtime.task import task
from workers.tasks import worded

log = get_logger()


@task(TAKE_AGENT_TURN)
def take_agent_turn(ctx: Context, job_id: UUID, turn_no: int) -> None:
    """Take a turn of an agent, or end it; twice is once."""
    process = _process(ctx)
    ended = taken(process, job_id, turn_no)
    if ended is not None:
        _tell_turns(ctx, job_id, turn_no - 1, ended)
        _end(ctx, ended, process)


def carry_out(ctx: Context, job: Job, plan: Plan, call_no: int) -> None:
    """Carry out one call of a turn and keep what it comes to; twice is once."""
    clock = replace(make_calendar(ctx.settings, ctx.facility), now=datetime.now(UTC))
    until = worded.kept_until(ctx, job)
    done = run_call(_process(ctx), job, plan, call_no, clock, classified, until)
    if done is None:
        return
    name, outcomes = done
    for one in outcomes:
        worker_metrics.branch_done(one.name, one.status, one.took_ms / 1000)
    worker_metrics.AGENT_CALLS.labels(name, outcomes[-1].status).inc()


def _process(ctx: Context) -> AgentProcess:
    settings = ctx.settings
    chosen = choose_model(settings, "agent")
    excluded = find_excluded_logbooks(settings, chosen) if chosen else frozenset()

    def model() -> ChatModel:
        if chosen is None:
            message = "No model is configured for agents (`reasoning.provider`)."
            raise ConfigurationError(message, config_key="reasoning.provider")

        def make() -> ChatModel:
            circuit = circuit_of(ctx.search_context.circuits, chosen.provider)
            return GuardedModel(make_client(settings, chosen), circuit)

        return ctx.kept("agent_model", make)

    return AgentProcess(
        pool=ctx.pool,
        redis=ctx.redis,
        context=ctx.search_context,
        now=ctx.clock.now,
        model=model,
        bounds=Bounds.of(settings),
        max_tokens=chosen.max_tokens if chosen else settings.synthesis.max_tokens,
        temperature=settings.reasoning.temperature,
        send=_Sender(ctx),
        excluded=excluded,
        take_answer=lambda tenant: worded.quota_of(ctx)(tenant).is_allowed,
        tell_turns=lambda job_id, first: _tell_turns(ctx, job_id, first, None),
        checkpoint=lambda name, _: ctx.checkpoint(name),
    )


class _Sender:
    """Sends calls with the headers of the message at hand."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def calls(self, job: Job, numbers: Sequence[int], turn_no: int) -> None:
        """Send calls as a chord, whose body takes a turn."""
        given = self._ctx.headers
        kept = ("mailbox", "request_id", "traceparent")
        known = {name: given[name] for name in kept if given.get(name)}
        headers = {**known, "deadline": job.deadline, fan_out.WATCHED: True}
        fan_out.send_agent_calls(self._ctx.app, job.job_id, numbers, turn_no, headers)


def _end(ctx: Context, one: Ending, process: AgentProcess) -> None:
    ctx.checkpoint("before_answer", one.job.job_id)
    plain: list[Answer] = []
    chosen = choose_model(ctx.settings, "agent")
    asked = AskedModel(chosen.name if chosen else None, process.excluded, plain.append)
    ended = end_agent.end_agent(
        ctx.search_context, one.job, one.plan, one.turns, one.reason, make_cards, asked
    )
    audience = worded.Audience(
        ctx.redis, one.job.job_id, worded.kept_until(ctx, one.job)
    )
    is_told = tell_answer(audience, one.plan, ended, plain)
    ctx.checkpoint("before_store")
    is_first = end_agent.store(
        ctx.pool, one.job, ended, one.reason, one.plan.deadline_ms
    )
    mailbox = ctx.headers.get("mailbox")
    if mailbox:
        ending.tell(ctx.redis, mailbox, one.job, ended)
    if is_first:
        worker_metrics.search_ended(ended)
        worker_metrics.AGENT_ENDS.labels(one.reason).inc()
        if ended.sentences is not None and (share := ended.sentences.model):
            worker_metrics.model_asked(share)
    audience.tell(progress.ENDED, {"answered": is_told})


def tell_answer(
    audience: worded.Audience, plan: Plan, ended: EndedSearch, plain: Sequence[Answer]
) -> bool:
    """Tell of hits, the answer without a model, then the model's; tell whether."""
    if ended.answer is None or ended.sentences is None or not plain:
        return False
    response = ended.answer.to_json()
    audience.tell("results", answer_events.without_answer(response))
    audience.tell("deterministic", answer_events.of_answer(plan, plain[-1]))
    if ended.sentences.model is not None:
        audience.tell("llm_status", answer_events.of_model(plan, ended.sentences))
    actions = answer_events.suggest_actions(response)
    audience.tell("actions", {"actions": actions})
    return True


def _tell_turns(ctx: Context, job_id: UUID, first: int, ended: Ending | None) -> None:
    """Tell the watchers of a job, once each, how its ended turns fared."""
    job = jobs.load_job(ctx.redis, job_id)
    if job is None:
        return
    with connection(ctx.pool) as conn:
        turns = turn_rows.list_turns(conn, job_id, job.tenant)
    if ended is not None and turns:
        # Before the job is: whoever looks on leaves when that is told.
        turns[-1] = replace(turns[-1], state="ended", exit_reason=ended.reason)
    for one in turns:
        if (
            one.turn_no >= first
            and one.state in {"done", "ended"}
            and jobs.mark_told(ctx.redis, job, f"turn:{one.turn_no}:{one.state}")
        ):
            told = agent_trace.tell_turn(one)
            until = worded.kept_until(ctx, job)
            progress.tell_event(ctx.redis, job_id, "agent_turn", told, until=until)
            worker_metrics.AGENT_TURNS.labels(one.state).inc()
