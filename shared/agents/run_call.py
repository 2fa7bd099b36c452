"""A call of a turn, as its branch is delivered: carried out, and kept."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias
from uuid import UUID

from psycopg import Connection
from pydantic import BaseModel

from shared.agents import tools, turn_rows
from shared.agents.ask_model import AgentProcess
from shared.agents.take_turn import CALLS_OF_TURN
from shared.agents.tools import AgentTool
from shared.entries import refs
from shared.errors import InvalidRequestError, LogchordError, NotFoundError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs import outcome, progress, stored_outcomes
from shared.search.jobs.job import Job
from shared.search.jobs.outcome import Diagnostic, Outcome
from shared.search.pipelines import run_pipeline
from shared.search.query import deadline_shares, list_by_time
from shared.search.query.facet_request import Counting
from shared.search.query.filters import filters
from shared.search.query.filters.filters import Filters
from shared.search.query.language import grammar, required_fields
from shared.search.query.list_by_time import LISTING_MODULE
from shared.search.query.plan import MIN_WINDOW, Plan
from shared.search.query.times import resolve_times
from shared.search.results.hydrate import hydrate
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.modules import filter_options
from shared.search.retrieval.search_context import SearchContext
from shared.times import plain_words, time_phrases
from shared.times.calendar import Clock

log = get_logger()

# Runs a step and returns its error, whatever went wrong.
Attempt: TypeAlias = Callable[[Callable[[], None]], LogchordError | None]
# No call takes longer, however much of the deadline is left: a turn waits for all.
CALL_SECONDS = 4.0
# The most values of one filter.
MOST_VALUES = 100
_TIMES = ("start_date", "end_date")
_NARROWING = ("author", "source", "logbook", "exclude_entry_ids")
# What the arguments of a search say beside its question and its filters.
_OWN = frozenset({"query", "limit", "sort", "similarity_threshold"})


def run_call(
    process: AgentProcess,
    job: Job,
    plan: Plan,
    call_no: int,
    clock: Clock,
    attempt: Attempt,
    events_until: int,
) -> tuple[str, list[Outcome]] | None:
    """Carry out a call and store its outcome; None: its turn needs it no more."""
    turn_no, number = divmod(call_no, CALLS_OF_TURN)
    with connection(process.pool) as conn:
        turns = turn_rows.list_turns(conn, job.job_id, job.tenant)
        turn = next((one for one in turns if one.turn_no == turn_no), None)
        # Sent twice where its queue was busy, it is in before its turn is settled.
        if (
            turn is None
            or number not in turn.missing
            or jobs.is_in(process.redis, job.job_id, call_no)
        ):
            log.info("agent_call_not_wanted", job_id=str(job.job_id), call=call_no)
            return None
        turn_rows.hold(conn, job.job_id, job.tenant, turn_no)
    name, arguments = turn.calls[number]["name"], turn.calls[number]["arguments"]
    progress.branch_started(process.redis, job.job_id, name, 0, until=events_until)
    process.checkpoint("call_begun", job.job_id)
    outcomes: list[Outcome] = []

    def carry_out() -> None:
        tool = tools.list_tools(plan)[name]
        ends_at = deadline_shares.branch_end(job.deadline, plan.deadline_ms)
        given = tool.read(arguments)
        outcomes.extend(
            carry_out_call(
                process.context,
                plan,
                tool,
                given,
                clock,
                ends_at,
                process.now,
                process.excluded,
            )
        )

    def hold(conn: Connection) -> bool:
        turn_rows.hold(conn, job.job_id, job.tenant, turn_no)
        return True

    # A call may take longer than a lease where a model is loaded for it first.
    with turn_rows.renewed(process.pool, hold):
        error = attempt(carry_out)
    if error is not None:
        outcomes.append(_failed(name, error))
    process.checkpoint("before_keep", job.job_id)
    stored_outcomes.store_outcomes(
        process.redis,
        job.job_id,
        call_no,
        outcomes,
        awaited=0,
        deadline=job.deadline,
        mailbox=None,
        events_until=events_until,
    )
    process.checkpoint("after_keep", job.job_id)
    return name, outcomes


def _failed(name: str, error: LogchordError) -> Outcome:
    note = Diagnostic("error", "agent", error.error_code, error.message, "search")
    return replace(outcome.make_failure(name, "", error), diagnostics=(note,))


def plan_call(plan: Plan, tool: AgentTool, arguments: BaseModel, clock: Clock) -> Plan:
    """Return the plan of a search tool's call.

    Its own times take the place of the request's; all else that the request filters by
    holds beside what the call filters by.
    """
    given = arguments.model_dump(exclude_none=True, exclude_defaults=True)
    query = tools.query_of(given) or ""
    narrowed = _narrowed(plan.filters, given, clock)
    parsed = grammar.parse(query, clock)
    lifted = required_fields.lift(parsed.tree, narrowed)
    timed = resolve_times.resolve_times(lifted, given, query, clock)
    limit = int(given.get("limit", getattr(arguments, "limit", plan.limit)))
    sort = given.get("sort", "relevance")
    threshold = given.get("similarity_threshold")
    ordering = plan.ordering
    if threshold is not None:
        ordering = replace(ordering, similarity_threshold=threshold)
    others = {
        name: value
        for name, value in given.items()
        if name not in {*_OWN, *_TIMES, *_NARROWING}
    }
    asked = replace(
        plan,
        query=query,
        tree=timed.tree,
        filters=timed.filters,
        method=tool.name,
        branches=(tool.module or "",),
        limit=limit,
        window=max(MIN_WINDOW, limit),
        ordering=ordering,
        parameters={**plan.parameters, **others},
        diagnostics=parsed.diagnostics,
    )
    return asked if sort == "relevance" else _by_time(asked, sort)


def carry_out_call(
    context: SearchContext,
    plan: Plan,
    tool: AgentTool,
    arguments: BaseModel,
    clock: Clock,
    ends_at: float,
    now: Callable[[], float],
    excluded: frozenset[str] = frozenset(),
) -> list[Outcome]:
    """Carry out a call and return its outcomes; raise if its arguments are wrong.

    Entries of excluded logbooks are kept from the model by whoever tells it of hits;
    of their values nothing is told here.
    """
    ends_at = min(ends_at, now() + CALL_SECONDS)
    if tool.module is not None:
        asked = plan_call(plan, tool, arguments, clock)
        branch = Branch(asked, asked.branches[0], ends_at, now)
        return run_pipeline.carry_out_branch(context, branch)
    given = arguments.model_dump()
    began = time.perf_counter()
    match tool.name:
        case tools.GET_ENTRY | tools.GET_THREAD:
            asked = _of_entry(context, plan, tool.name, given["ref"])
            branch = Branch(asked, LISTING_MODULE, ends_at, now)
            return run_pipeline.carry_out_branch(context, branch)
        case tools.FILTER_VALUES:
            told = _values(context, plan, given, ends_at - now(), excluded)
        case _:
            told = _time(given["text"], clock)
    took = round((time.perf_counter() - began) * 1000, 3)
    return [Outcome(tool.name, "ok", "", took_ms=took, counts=told)]


def _narrowed(asked: Filters, given: Mapping[str, Any], clock: Clock) -> Filters:
    said = {name: given[name] for name in (*_TIMES, *_NARROWING) if given.get(name)}
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in said.items()
    }
    own = filters.parse(plain, max_values=MOST_VALUES, clock=clock)
    if any(name in said for name in _TIMES):
        asked = replace(asked, since=None, until=None)
    both = asked.both(own)
    if both is None:
        message = "The question is filtered by something else already."
        raise InvalidRequestError.field("filters", "contradiction", message)
    return both


def _by_time(plan: Plan, sort: list_by_time.Sort) -> Plan:
    return replace(plan, branches=(LISTING_MODULE,), sort=sort, exhaustive=False)


def _of_entry(context: SearchContext, plan: Plan, name: str, ref: str) -> Plan:
    """Return the listing that holds an entry, or its thread, if the caller sees it."""
    with connection(context.pool) as conn:
        pinned = {
            one.entry_id: one.revision
            for one in refs.find_cited(conn, plan.scope.tenant, ref)
            if one.entry_id is not None
        }
        rows = hydrate(conn, [*pinned], plan.scope, int(CALL_SECONDS * 1000))
    if not rows:
        raise NotFoundError
    found: list[UUID] = sorted(rows)
    if any(pinned[one] not in {None, rows[one].revision} for one in found):
        # What an agent cites is what the entry says now.
        message = "Only the newest revision of an entry is read: leave @ off."
        raise InvalidRequestError.field("ref", "revision", message)
    one = Filters(ids=tuple(map(str, found)))
    threads = tuple(str(row.thread_id) for row in rows.values() if row.thread_id)
    if name == tools.GET_THREAD and threads:
        one = Filters(threads=threads)
    narrowed = plan.filters.both(one)
    if narrowed is None:
        # What the request filters out is as absent as none.
        raise NotFoundError
    most = tools.MOST_OF_THREAD
    bare = replace(plan, query="", tree=None, filters=narrowed, method=name, limit=most)
    return _by_time(bare, "oldest")


def _values(
    context: SearchContext,
    plan: Plan,
    given: Mapping[str, Any],
    seconds: float,
    excluded: frozenset[str],
) -> dict[str, Any]:
    unwanted = sorted({*(plan.filters.not_logbooks or ()), *excluded})
    told = replace(plan.filters, not_logbooks=tuple(unwanted) or None)
    bare = replace(plan, query="", tree=None, filters=told)
    found = filter_options.list_options(
        bare,
        context,
        seconds,
        Counting((given["field"],)),
        prefix=given["prefix"],
        limit=given["limit"],
    )
    values = [{"value": value, "count": count} for value, count in found.values]
    return {"field": given["field"], "values": values}


def _time(text: str, clock: Clock) -> dict[str, Any]:
    found = time_phrases.parse_time_phrase(plain_words.make_plain(text.split()), clock)
    if found is None:
        message = "These words are not read as a time."
        raise InvalidRequestError.field("text", "time", message)
    ends = (found.span.since, found.span.until)
    since, until = (one.isoformat() if one else None for one in ends)
    return {"start_date": since, "end_date": until, "confidence": found.confidence}
