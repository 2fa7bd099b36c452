"""One turn of an agent: what the last came to, what the model says, what is called.

A turn is a row that is committed before anything it says is done. Whoever comes second
finds it taken, whoever comes after a death goes on from the row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from shared.agents import conversation, tools, turn_rows
from shared.agents.bounds import Bounds, ExitReason, reserve
from shared.agents.call_outcomes import INVALID, REPEATED, keep_outcomes, refuse_call
from shared.agents.read_calls import MalformedCallError, WantedCall, read_calls
from shared.agents.tools import AgentTool
from shared.agents.turn_rows import Claim, RunningJob, TurnRow
from shared.errors import LogchordError, ModelOutageError, ModelRefusalError
from shared.language_models.completion import ChatRequest, Completion
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.query.plan import Plan

if TYPE_CHECKING:
    import redis

    from shared.postgres.pool import Pool
    from shared.search.retrieval.search_context import SearchContext

log = get_logger()

# A call has the number of its turn times so much, and its own.
CALLS_OF_TURN = 100
# With less time left no model is asked.
LEAST_SECONDS = 0.3
# Before an endpoint that was busy is asked once more.
PAUSE_SECONDS = 0.5
_ASKED_AT_MOST = 2


class ChatModel(Protocol):
    """Who is asked: one call, one absolute end."""

    def complete(
        self,
        request: ChatRequest,
        seconds: float,
        *,
        is_cancelled: Callable[[], bool],
    ) -> Completion:
        """Return what the model says within the time."""


class Sender(Protocol):
    """How the next steps are sent."""

    def calls(self, job: Job, numbers: Sequence[int], turn_no: int) -> None:
        """Send calls as a chord, whose body takes a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProcess:
    """What a turn needs of the process that takes it."""

    pool: Pool
    redis: redis.Redis
    context: SearchContext
    now: Callable[[], float]
    model: Callable[[], ChatModel]
    bounds: Bounds
    max_tokens: int
    temperature: float
    send: Sender
    checkpoint: Callable[[str, UUID], None] = lambda *_: None


@dataclass(frozen=True, slots=True)
class Ending:
    """An agent's job that has no turn more, and why."""

    job: Job
    plan: Plan
    turns: list[TurnRow]
    reason: ExitReason


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model said, and what is to be called for it."""

    completion: Completion
    calls: tuple[WantedCall, ...]
    native: bool
    # How often it was asked again within the turn.
    again: int


class _TurnLostError(Exception):
    """The turn is somebody else's by now, or nobody's: its job has ended."""


class _ModelFailedError(Exception):
    """No word of the model can be used; `reason` says why the agent ends."""

    def __init__(self, reason: ExitReason, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason: ExitReason = reason
        # Whether asking again is for nothing, but perhaps without naming tools.
        self.is_final = is_final
        self.names_no_tools = False


def take_turn(process: AgentProcess, job_id: UUID, turn_no: int) -> Ending | None:
    """Take a turn, if it is anybody's to take; return how the job ends, if it does."""
    with connection(process.pool) as conn:
        running = turn_rows.find_job(conn, job_id)
        if running is None:
            return None
        if running.has_ended:
            # By its owner or by its deadline: nothing runs on.
            turn_rows.end(conn, job_id, running.tenant, "cancelled")
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
        ended, goes_on = _go_on(process, job, plan, claim, turns)
        if ended is not None or not goes_on:
            return ended
        # Nothing had to be carried out: the next turn follows at once.
        turn_no += 1


def settle(process: AgentProcess, job: Job, turn: TurnRow) -> bool:
    """Keep what the calls of a turn have come to; tell whether all of them have."""
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
    if _left(process, job, plan) < LEAST_SECONDS:
        return "deadline"
    return process.bounds.stop_before(turns, claim.row.turn_no)


def _left(process: AgentProcess, job: Job, plan: Plan) -> float:
    return job.deadline - reserve(plan.deadline_ms) - process.now()


def _ask(
    process: AgentProcess, job: Job, plan: Plan, claim: Claim, turns: list[TurnRow]
) -> tuple[Ending | None, bool]:
    before = [one for one in turns if one.turn_no < claim.row.turn_no]
    offered = tools.list_tools(plan)
    is_last = process.bounds.is_last(claim.row.turn_no)
    began = time.perf_counter()
    with _renewed(process, claim) as is_over:
        try:
            said, digest = _say(
                process, job, plan, claim, before, offered, is_over, is_last=is_last
            )
        except _ModelFailedError as exc:
            return Ending(job, plan, turns, exc.reason), False
        except _TurnLostError:
            _leave(process, job)
            return None, False
    took_ms = round((time.perf_counter() - began) * 1000, 3)
    exit_reason: ExitReason = "answered"
    calls = said.calls
    if calls and is_last:
        calls, exit_reason = (), "max_turns"
    judged = _judge(calls, offered, before)
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


def _leave(process: AgentProcess, job: Job) -> None:
    """Say why no turn follows, where the job was ended meanwhile."""
    with connection(process.pool) as conn:
        running = turn_rows.find_job(conn, job.job_id)
        if running is not None and running.has_ended:
            turn_rows.end(conn, job.job_id, job.tenant, "cancelled")


def _say(
    process: AgentProcess,
    job: Job,
    plan: Plan,
    claim: Claim,
    before: Sequence[TurnRow],
    offered: Mapping[str, AgentTool],
    is_over: Callable[[], bool],
    *,
    is_last: bool,
) -> tuple[_Said, str]:
    """Ask the model, once more where it may then say something of use."""
    native = all((one.model_out or {}).get("native", True) for one in before)
    seen = conversation.see(process.context, plan, before)
    for again in range(_ASKED_AT_MOST):
        messages = conversation.write_messages(
            process.context, plan, before, seen, is_last=is_last, native=native
        )
        listed = tools.list_descriptions([*offered.values()])
        request = ChatRequest(
            messages,
            process.max_tokens,
            process.temperature,
            listed if native and not is_last else (),
        )
        seconds = _left(process, job, plan)
        try:
            said = _ask_once(process, claim, request, seconds, offered, is_over)
            # Whoever writes its calls as text is told what came of them as text.
            native = said.native or (native and not said.calls)
            said = replace(said, native=native, again=again)
            return said, conversation.hash_messages(messages)
        except _ModelFailedError as exc:
            failed = exc
        if is_over():
            raise _TurnLostError
        if _left(process, job, plan) < LEAST_SECONDS:
            raise _ModelFailedError("deadline")
        if failed.is_final:
            # An endpoint that knows no tools refuses whoever names some.
            if not failed.names_no_tools or not native or before:
                raise failed
            native = False
    raise failed


def _ask_once(
    process: AgentProcess,
    claim: Claim,
    request: ChatRequest,
    seconds: float,
    offered: Mapping[str, AgentTool],
    is_over: Callable[[], bool],
) -> _Said:
    """Return what the model says to it; what cannot be used is raised, and paid."""
    try:
        completion = process.model().complete(request, seconds, is_cancelled=is_over)
    except ModelRefusalError as exc:
        log.warning("agent_model_refused", reason=exc.reason)
        failed = _ModelFailedError("model_unavailable", is_final=True)
        failed.names_no_tools = exc.reason == "refused"
        raise failed from exc
    except ModelOutageError as exc:
        log.warning("agent_model_failed", reason=exc.reason)
        _pause(exc, is_over)
        raise _ModelFailedError(_failure(exc)) from exc
    except LogchordError as exc:
        log.warning("agent_model_not_asked", code=exc.error_code)
        raise _ModelFailedError("model_unavailable") from exc
    try:
        calls, is_native = read_calls(completion, offered)
    except MalformedCallError as exc:
        _keep_spent(process, claim, completion)
        raise _ModelFailedError("model_malformed") from exc
    if not calls and not completion.text.strip():
        _keep_spent(process, claim, completion)
        raise _ModelFailedError("model_malformed")
    return _Said(completion, calls, is_native, 0)


def _failure(error: ModelOutageError) -> ExitReason:
    malformed = error.reason in {"malformed", "endless"}
    return "model_malformed" if malformed else "model_unavailable"


def _pause(error: ModelOutageError, is_over: Callable[[], bool]) -> None:
    """Wait as long as a busy endpoint asks for, if that is a moment."""
    seconds = min(error.retry_after_seconds or PAUSE_SECONDS, 2 * PAUSE_SECONDS)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not is_over():
        threading.Event().wait(0.05)


def _keep_spent(process: AgentProcess, claim: Claim, said: Completion) -> None:
    with connection(process.pool) as conn:
        tokens = (said.tokens_in or 0, said.tokens_out or 0)
        turn_rows.keep_spent_tokens(conn, claim, tokens)


def _judge(
    calls: Sequence[WantedCall],
    offered: Mapping[str, AgentTool],
    before: Sequence[TurnRow],
) -> dict[str, dict[str, Any]]:
    """Return the outcomes of the calls that nobody need carry out."""
    known = _known(offered, before)
    found: dict[str, dict[str, Any]] = {}
    for number, call in enumerate(calls):
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
            key = tools.key_of(call.name, tool.read(call.arguments))
        except ValueError as exc:
            found[str(number)] = refuse_call("validation_failed", str(exc))
            continue
        if key in known:
            found[str(number)] = {**known[key], "status": REPEATED}
        known.setdefault(key, {"status": REPEATED, "outcomes": [], "told": {}})
    return found


def _known(
    offered: Mapping[str, AgentTool], before: Sequence[TurnRow]
) -> dict[str, dict[str, Any]]:
    """Return what calls of earlier turns have come to, by what equal calls share."""
    known: dict[str, dict[str, Any]] = {}
    for turn in before:
        for number, call in enumerate(turn.calls):
            kept = turn.outcomes.get(str(number), {})
            tool = offered.get(call["name"])
            if tool is None or kept.get("status") not in {"ok", "empty"}:
                continue
            key = tools.key_of(call["name"], tool.read(call["arguments"]))
            known.setdefault(key, {**kept, "same_as": [turn.turn_no, number]})
    return known


@contextmanager
def _renewed(process: AgentProcess, claim: Claim) -> Iterator[Callable[[], bool]]:
    """Hold a turn while its model is asked; give what tells that it is over."""
    stop, over = threading.Event(), threading.Event()

    def renew() -> None:
        while not stop.wait(turn_rows.RENEW_SECONDS):
            try:
                with connection(process.pool) as conn:
                    job = turn_rows.find_job(conn, claim.job_id)
                    is_ours = turn_rows.renew(conn, claim)
            except LogchordError as exc:
                # The lease may still hold: the next look tells.
                log.warning("turn_not_renewed", code=exc.error_code)
                continue
            if job is None or job.has_ended or not is_ours:
                over.set()

    thread = threading.Thread(target=renew, name="agent turn", daemon=True)
    thread.start()
    try:
        yield over.is_set
    finally:
        stop.set()
        thread.join()
