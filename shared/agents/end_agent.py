"""The end of an agent: its hits as one list, its answer checked, its reason told."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from shared.agents import tools, turn_rows
from shared.agents.agent_answer import AgentAnswer, AskedModel
from shared.agents.bounds import ExitReason, reason_without_end
from shared.agents.call_outcomes import FAILED, REPEATED
from shared.agents.conversation import read_outcomes
from shared.agents.turn_rows import TurnRow
from shared.errors import SearchTimeoutError
from shared.postgres.pool import Pool, pipelined_connection
from shared.search.jobs import close_job
from shared.search.jobs.job import Job, StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.query.language import grammar
from shared.search.query.list_by_time import LISTING_MODULE
from shared.search.query.plan import Plan
from shared.search.query.sub_queries import FanOut, SubQuery
from shared.search.response.end_search import Beside, EndedSearch, MakeCards, end_search
from shared.search.response.response_parts import parts_without_reading
from shared.search.retrieval.search_context import SearchContext


def end_agent(
    context: SearchContext,
    job: Job,
    plan: Plan,
    turns: Sequence[TurnRow],
    reason: ExitReason,
    make_cards: MakeCards,
    asked_model: AskedModel,
) -> EndedSearch:
    """End an agent: rank its hits, and answer in its words or those of the entries.

    This holds for every reason to end; the answer without a model is heard before the
    one that is worded.
    """
    asked, arrived, failed = gather(plan, turns)
    worded = AgentAnswer(context, plan, turns, reason, asked_model)
    beside = Beside(worded.answer_question, make_cards)
    ended = end_search(context, job, asked, arrived, beside)
    if ended.answer is None:
        return ended
    is_done = reason == "answered" and not failed and bool(asked.branches)
    is_done &= ended.conclusion.state == "done"
    state: Literal["done", "partial"] = "done" if is_done else "partial"
    branches = (*ended.conclusion.branches, *failed)
    conclusion = replace(ended.conclusion, state=state, branches=branches)
    answer = ended.answer
    if not asked.branches:
        # Nothing was searched: so it says, and which tools failed.
        said = parts_without_reading(asked, conclusion).absence.context_answer
        answer = replace(answer, context_answer=said)
    answer = replace(
        answer,
        state=state,
        branches=branches,
        degraded=answer.degraded or bool(failed),
        deterministic=False,
        agent=describe(plan, turns, reason, worded.twin_text),
    )
    return replace(ended, conclusion=conclusion, answer=answer, asked=asked)


def close_turns(turns: Sequence[TurnRow], found: StoredJob) -> list[TurnRow]:
    """Return the turns of a stored job: one that has ended leaves none open.

    Where others have ended it, perhaps nobody took the last turn any more.
    """
    if found.ended_at is None or not turns or turns[-1].exit_reason is not None:
        return [*turns]
    reason = reason_without_end(cancelled=found.cancelled)
    return [*turns[:-1], replace(turns[-1], state="ended", exit_reason=reason)]


def describe(
    plan: Plan, turns: Sequence[TurnRow], reason: str | None, twin: str | None
) -> dict[str, Any]:
    """Return how an agent ended, and the answer that comes out the same each time."""
    return {
        "exit_reason": reason,
        "turns": len(turns),
        "tool_calls": sum(len(one.calls) for one in turns),
        "tokens_in": sum(one.tokens_in for one in turns),
        "tokens_out": sum(one.tokens_out for one in turns),
        "twin": {"mode": "agentic", "query": plan.query, "answer": twin},
    }


def gather(
    plan: Plan, turns: Sequence[TurnRow]
) -> tuple[Plan, dict[int, list[Outcome]], tuple[Outcome, ...]]:
    """Return the plan of all calls, their outcomes, and the branches that failed.

    Each call is a sub-query: what several of them have found stands further up.
    """
    sub_queries: list[SubQuery] = []
    names: list[str] = []
    arrived: dict[int, list[Outcome]] = {}
    failed: list[Outcome] = []
    for turn in turns:
        for call, kept in turn.results:
            heard = read_outcomes(kept)
            if kept.get("status") == REPEATED or not heard:
                continue
            if kept.get("status") in FAILED:
                failed += heard
                continue
            place = len(names)
            query = tools.query_of(call["arguments"]) or plan.query
            sub_queries.append(SubQuery(query, grammar.parse(query).tree))
            # What looks closer lists entries, and the whole is no list by time.
            listed = heard[-1].name == LISTING_MODULE
            names.append(call["name"] if listed else heard[-1].name)
            arrived[place] = [replace(one, part=place) for one in heard]
    fan_out = FanOut(tuple(sub_queries), tuple(range(len(names))), "agent")
    return replace(plan, branches=tuple(names), fan_out=fan_out), arrived, tuple(failed)


def store(
    pool: Pool, job: Job, ended: EndedSearch, reason: ExitReason, deadline_ms: int
) -> bool:
    """Close the job and its last turn in one commit; True for whoever closed it."""
    ending = ended.ending
    if reason == "deadline" and ending.error is None:
        timeout = SearchTimeoutError(
            timeout_seconds=deadline_ms / 1000, operation="agent"
        )
        ending = replace(ending, error=timeout.body()["error"])
    with pipelined_connection(pool) as conn:
        turn_rows.end(conn, job.job_id, job.tenant, reason)
        return close_job.close_job(conn, job, ending)


def list_seen_entries(plan: Plan, turns: Sequence[TurnRow]) -> list[UUID]:
    """Return every entry that the calls of some turns have found."""
    _, arrived, _ = gather(plan, turns)
    heard = (one for branch in arrived.values() for one in branch)
    return sorted({UUID(hit.entry_id) for one in heard for hit in one.hits})
