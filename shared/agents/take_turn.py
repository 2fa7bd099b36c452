"""One turn of an agent: what the last came to, what the model says, what is called.

A turn is a row that is committed before anything it says is done. Whoever comes second
finds it taken, whoever comes after a death goes on from the row.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import Connection

from shared.agents import tools, turn_rows
from shared.agents.ask_model import (
    LEAST_SECONDS,
    AgentProcess,
    ModelFailedError,
    TurnLostError,
    ask_model,
    seconds_left,
)
from shared.agents.bounds import ExitReason, reason_without_end
from shared.agents.call_outcomes import INVALID, REPEATED, keep_outcomes, refuse_call
from shared.agents.read_calls import WantedCall
from shared.agents.tools import AgentTool
from shared.agents.turn_rows import Claim, RunningJob, TurnRow
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.query.plan import Plan

log = get_logger()

# A call has the number of its turn times so much, and its own.
CALLS_OF_TURN = 100


@dataclass(frozen=True, slots=True)
class Ending:
    """An agent's job that takes no more turns, and the reason."""

    job: Job
    plan: Plan
    turns: list[TurnRow]
    reason: ExitReason


def take_turn(process: AgentProcess, job_id: UUID, turn_no: int) -> Ending | None:
    """Take a turn, if it is anybody's to take; return how the job ends, if it does."""
    with connection(process.pool) as conn:
        running = turn_rows.find_job(conn, job_id)
        if running is None:
            return None
        if running.has_ended:
            # By its owner or by its deadline: nothing runs on.
            reason = reason_without_end(cancelled=running.cancelled)
            turn_rows.end(conn, job_id, running.tenant, reason)
            return None
    job = _open(process, job_id, running)
    plan = Plan.from_json(job.plan)
    while True:
        with connection(process.pool) as conn:
            turns = turn_rows.list_turns(conn, job_id, running.tenant)
        before = next((one for one in turns if one.turn_no == turn_no - 1), None)
        if before is not None and not settle(process, job, before):
            _send_missing(process, job, before.turn_no)
            return None
        with connection(process.pool) as conn:
            claim = turn_rows.claim(conn, job_id, running.tenant, turn_no)
            turns = turn_rows.list_turns(conn, job_id, running.tenant)
        if claim is None:
            return None
        process.checkpoint("turn_claimed", job_id)
        if before is not None:
            # Before the model is asked: that may take a while.
            process.tell_turns(job_id, turn_no - 1)
        ended, goes_on = _go_on(process, job, plan, claim, turns)
        if ended is not None or not goes_on:
            return ended
        # Nothing had to be carried out: the next turn follows at once.
        turn_no += 1


def settle(process: AgentProcess, job: Job, turn: TurnRow) -> bool:
    """Store the outcomes of a turn's calls; tell whether none is missing now."""
    missing = turn.missing
    found: dict[str, dict[str, Any]] = {}
    if missing:
        heard = jobs.outcomes(process.redis, job.job_id)
        first = turn.turn_no * CALLS_OF_TURN
        found = {
            str(number): keep_outcomes(turn.calls[number], heard[first + number])
            for number in missing
            if first + number in heard
        }
    is_done = len(found) == len(missing)
    if found or (is_done and turn.state == "calling"):
        with connection(process.pool) as conn:
            turn_rows.keep_outcomes(
                conn, job.job_id, job.tenant, turn.turn_no, found, is_done=is_done
            )
    return is_done


def _open(process: AgentProcess, job_id: UUID, running: RunningJob) -> Job:
    """Return the job; where Redis has lost it, it is opened there once more."""
    known = jobs.load_job(process.redis, job_id)
    if known is not None:
        return known
    now = process.now()
    job = Job(
        job_id=job_id,
        tenant=running.tenant,
        subject=running.subject,
        key_id=running.key_id,
        plan=Plan.from_values(running.plan).to_json(),
        branches=1,
        created=now - running.age_seconds,
        deadline=now + running.left_seconds,
        submitted=True,
        ends_in_chord=True,
    )
    jobs.open_job(process.redis, job)
    return job


def _send_missing(process: AgentProcess, job: Job, turn_no: int) -> None:
    """Send the calls of a turn again that nobody carries out any more."""
    with connection(process.pool) as conn:
        claim = turn_rows.claim(conn, job.job_id, job.tenant, turn_no)
    if claim is None:
        # Its calls hold it: they are under way.
        return
    _send(process, job, claim.row)


def _send(process: AgentProcess, job: Job, turn: TurnRow) -> None:
    first = turn.turn_no * CALLS_OF_TURN
    numbers = [first + number for number in turn.missing]
    process.send.calls(job, numbers, turn.turn_no + 1)


def _go_on(
    process: AgentProcess, job: Job, plan: Plan, claim: Claim, turns: list[TurnRow]
) -> tuple[Ending | None, bool]:
    """Go on with a turn from where it stands; tell whether the next one follows."""
    if claim.row.model_out is not None:
        # Taken up from someone who died behind its model's word.
        if not claim.row.calls:
            return Ending(job, plan, turns, _exit_of(claim.row)), False
        if settle(process, job, claim.row):
            return None, True
        with connection(process.pool) as conn:
            again = turn_rows.list_turns(conn, job.job_id, job.tenant)
        _send(process, job, next(o for o in again if o.turn_no == claim.row.turn_no))
        return None, False
    reason = _stop(process, job, plan, turns, claim)
    if reason is not None:
        return Ending(job, plan, turns, reason), False
    return _ask(process, job, plan, claim, turns)


def _exit_of(turn: TurnRow) -> ExitReason:
    reason: ExitReason = (turn.model_out or {}).get("exit_reason", "answered")
    return reason


def _stop(
    process: AgentProcess, job: Job, plan: Plan, turns: Sequence[TurnRow], claim: Claim
) -> ExitReason | None:
    if seconds_left(process, job, plan) < LEAST_SECONDS:
        return "deadline"
    turn_no, repeated = claim.row.turn_no, claim.row.repeated
    reason = process.bounds.stop_before(turns, turn_no)
    # Whoever takes the first turn up again finds it paid.
    is_first = turn_no == 1 and not repeated
    if reason is None and is_first and not process.take_answer(job.tenant):
        log.warning("agent_quota_spent", job_id=str(job.job_id))
        _keep_refusal(process, claim)
        return "model_unavailable"
    return reason


def _keep_refusal(process: AgentProcess, claim: Claim) -> None:
    """Store that a turn's model is not asked: whoever takes it up would ask unpaid."""
    with connection(process.pool) as conn:
        turn_rows.keep_what_was_said(
            conn,
            claim,
            model_out={"text": "", "exit_reason": "model_unavailable"},
            calls=(),
            outcomes={},
            request_hash="",
            tokens=(0, 0),
            took_ms=0.0,
        )


def _ask(
    process: AgentProcess, job: Job, plan: Plan, claim: Claim, turns: list[TurnRow]
) -> tuple[Ending | None, bool]:
    before = [one for one in turns if one.turn_no < claim.row.turn_no]
    offered = tools.list_tools(plan)
    is_last = process.bounds.is_last(claim.row.turn_no)
    began = time.perf_counter()
    with turn_rows.renewed(process.pool, partial(_renew, claim)) as is_over:
        try:
            said, digest = ask_model(
                process, job, plan, claim, before, offered, is_over, is_last=is_last
            )
        except ModelFailedError as exc:
            return Ending(job, plan, turns, exc.reason), False
        except TurnLostError:
            _leave(process, job)
            return None, False
    took_ms = round((time.perf_counter() - began) * 1000, 3)
    exit_reason: ExitReason = "answered"
    calls = said.calls
    if calls and is_last:
        calls, exit_reason = (), "max_turns"
    calls, judged = _judge(calls, offered, before)
    wanted = [
        call.name
        for number, call in enumerate(calls)
        if judged.get(str(number), {}).get("status") not in {INVALID, REPEATED}
    ]
    spent = process.bounds.stop_calls(before, wanted) if calls else None
    if spent is not None:
        calls, judged, exit_reason = (), {}, spent
    model_out = {
        "text": said.completion.text,
        "finish_reason": said.completion.finish_reason,
        "native": said.native,
        "again": said.again,
        "exit_reason": exit_reason,
        "refused": [call.name for call in said.calls] if spent or is_last else [],
    }
    tokens = (said.completion.tokens_in or 0, said.completion.tokens_out or 0)
    process.checkpoint("before_said", job.job_id)
    with connection(process.pool) as conn:
        is_kept = turn_rows.keep_what_was_said(
            conn,
            claim,
            model_out=model_out,
            calls=[
                {"id": one.id, "name": one.name, "arguments": one.arguments}
                for one in calls
            ],
            outcomes=judged,
            request_hash=digest,
            tokens=tokens,
            took_ms=took_ms,
        )
        turns = turn_rows.list_turns(conn, job.job_id, job.tenant)
    if not is_kept:
        # Somebody else took it up, and is asked by nobody a third time.
        return None, False
    process.checkpoint("after_said", job.job_id)
    if not calls:
        return Ending(job, plan, turns, exit_reason), False
    now = next(one for one in turns if one.turn_no == claim.row.turn_no)
    if not now.missing:
        return None, True
    _send(process, job, now)
    process.checkpoint("calls_sent", job.job_id)
    return None, False


def _renew(claim: Claim, conn: Connection) -> bool:
    """Renew a claim; False: it is somebody else's by now, or its job has ended."""
    job = turn_rows.find_job(conn, claim.job_id)
    is_ours = turn_rows.renew(conn, claim)
    return is_ours and job is not None and not job.has_ended


def _leave(process: AgentProcess, job: Job) -> None:
    """Store why the agent ends, if its job was ended meanwhile."""
    with connection(process.pool) as conn:
        running = turn_rows.find_job(conn, job.job_id)
        if running is not None and running.has_ended:
            reason = reason_without_end(cancelled=running.cancelled)
            turn_rows.end(conn, job.job_id, job.tenant, reason)


def _judge(
    calls: Sequence[WantedCall],
    offered: Mapping[str, AgentTool],
    before: Sequence[TurnRow],
) -> tuple[tuple[WantedCall, ...], dict[str, dict[str, Any]]]:
    """Return the calls as they were read, and the outcomes of those that are refused.

    What is as one before need not be carried out either.
    """
    known = _known(offered, before)
    found: dict[str, dict[str, Any]] = {}
    as_read: list[WantedCall] = []
    for number, call in enumerate(calls):
        as_read.append(call)
        tool = offered.get(call.name)
        if tool is None:
            listed = ", ".join(offered)
            message = f"There is no tool {call.name!r}; there are {listed}."
            found[str(number)] = refuse_call("unknown_tool", message)
            continue
        if call.unreadable:
            found[str(number)] = refuse_call("validation_failed", call.unreadable)
            continue
        try:
            given = tool.read(call.arguments)
        except ValueError as exc:
            found[str(number)] = refuse_call("validation_failed", str(exc))
            continue
        said = given.model_dump(mode="json", exclude_unset=True)
        as_read[-1] = replace(call, arguments=said)
        key = tools.key_of(call.name, given)
        if key in known:
            found[str(number)] = {**known[key], "status": REPEATED}
        known.setdefault(key, {"status": REPEATED, "outcomes": [], "told": {}})
    return tuple(as_read), found


def _known(
    offered: Mapping[str, AgentTool], before: Sequence[TurnRow]
) -> dict[str, dict[str, Any]]:
    """Return the outcomes of earlier calls, by the key that equal calls share."""
    known: dict[str, dict[str, Any]] = {}
    for turn in before:
        for number, (call, kept) in enumerate(turn.results):
            tool = offered.get(call["name"])
            if tool is None or kept.get("status") not in {"ok", "empty"}:
                continue
            key = tools.key_of(call["name"], tool.read(call["arguments"]))
            known.setdefault(key, {**kept, "same_as": [turn.turn_no, number]})
    return known
