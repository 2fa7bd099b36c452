"""A model asked within a turn: held while it speaks, once more where that may help."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from shared.agents import conversation, turn_rows
from shared.agents.bounds import Bounds, ExitReason, reserve
from shared.agents.json_texts import change_texts
from shared.agents.read_calls import MalformedCallError, WantedCall, read_calls
from shared.agents.tools import AgentTool
from shared.agents.turn_rows import Claim, TurnRow
from shared.answers.prompt.pseudonyms import Pseudonyms
from shared.errors import LogchordError, ModelOutageError, ModelRefusalError
from shared.language_models.completion import ChatRequest, Completion
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.search.jobs.job import Job
from shared.search.query.plan import Plan
from shared.search.retrieval.search_context import SearchContext

if TYPE_CHECKING:
    import redis

log = get_logger()

# With less time left no model is asked.
LEAST_SECONDS = 0.3
# Before an endpoint that was busy is asked once more; one that wants to be left alone
# for longer than the most is not asked again in this turn.
PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 10.0
_ASKED_AT_MOST = 2


class ChatModel(Protocol):
    """A model that is asked with one call and one absolute end."""

    def complete(
        self, request: ChatRequest, seconds: float, *, is_cancelled: Callable[[], bool]
    ) -> Completion:
        """Return the model's completion, or raise when the time is over."""


class Sender(Protocol):
    """The way to send the next calls of an agent."""

    def calls(self, job: Job, numbers: Sequence[int], turn_no: int) -> None:
        """Send calls as a chord, whose body takes a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProcess:
    """The connections, the model and the limits of a process that takes turns."""

    pool: Pool
    redis: redis.Redis
    context: SearchContext
    now: Callable[[], float]
    model: Callable[[], ChatModel]
    bounds: Bounds
    max_tokens: int
    temperature: float
    send: Sender
    # Logbooks whose entries are not told to the model's provider.
    excluded: frozenset[str] = frozenset()
    # Takes an answer of a tenant's quota; False: it is spent.
    take_answer: Callable[[str], bool] = lambda _: True
    # Tells the watchers of a job of its turns that are over, from this one on.
    tell_turns: Callable[[UUID, int], None] = lambda *_: None
    checkpoint: Callable[[str, UUID], None] = lambda *_: None


@dataclass(frozen=True, slots=True)
class Said:
    """The completion of a model and the calls that it asks for."""

    completion: Completion
    calls: tuple[WantedCall, ...]
    native: bool
    # How often it was asked again within the turn.
    again: int


class TurnLostError(Exception):
    """The turn is somebody else's by now, or nobody's: its job has ended."""


class ModelFailedError(Exception):
    """No word of the model can be used; `reason` says why the agent ends."""

    def __init__(self, reason: ExitReason, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason: ExitReason = reason
        # Whether asking again is for nothing, but perhaps without naming tools.
        self.is_final = is_final
        self.names_no_tools = False
        # How long the endpoint is left alone before.
        self.pause_seconds = 0.0


def seconds_left(process: AgentProcess, job: Job, plan: Plan) -> float:
    """Return how long the model may speak; the rest is reserved for the answer."""
    return job.deadline - reserve(plan.deadline_ms) - process.now()


def ask_model(
    process: AgentProcess,
    job: Job,
    plan: Plan,
    claim: Claim,
    before: Sequence[TurnRow],
    offered: Mapping[str, AgentTool],
    is_over: Callable[[], bool],
    *,
    is_last: bool,
) -> tuple[Said, str]:
    """Ask the model; ask once more where that may help."""
    native = all((one.model_out or {}).get("native", True) for one in before)
    seen = conversation.see(process.context, plan, before, process.excluded)
    listed = [one.describe() for one in offered.values()]
    for again in range(_ASKED_AT_MOST):
        messages = conversation.write_messages(
            process.context, plan, before, seen, is_last=is_last, native=native
        )
        request = ChatRequest(
            messages,
            process.max_tokens,
            process.temperature,
            listed if native and not is_last else (),
        )
        seconds = seconds_left(process, job, plan)
        try:
            said = _ask_once(process, claim, request, seconds, offered, is_over)
            # Whoever writes its calls as text is told what came of them as text.
            native = said.native or (native and not said.calls)
            calls = tuple(_named(call, seen.pseudonyms) for call in said.calls)
            said = replace(said, calls=calls, native=native, again=again)
            return said, conversation.hash_messages(messages)
        except ModelFailedError as exc:
            failed = exc
        if is_over():
            raise TurnLostError
        left = seconds_left(process, job, plan) - LEAST_SECONDS
        if left < 0:
            raise ModelFailedError("deadline")
        if failed.is_final:
            # An endpoint that knows no tools refuses whoever names some; others refuse
            # whoever tells of calls and, in the last turn, names none.
            if not failed.names_no_tools or not native:
                raise failed
            native = False
        elif again + 1 < _ASKED_AT_MOST:
            if failed.pause_seconds > min(left, MOST_PAUSE_SECONDS):
                raise failed
            _pause(failed.pause_seconds, is_over)
    raise failed


def _named(call: WantedCall, pseudonyms: Pseudonyms) -> WantedCall:
    """Return a call with people's real names in place of their pseudonyms."""
    return replace(call, arguments=change_texts(call.arguments, pseudonyms.show))


def _ask_once(
    process: AgentProcess,
    claim: Claim,
    request: ChatRequest,
    seconds: float,
    offered: Mapping[str, AgentTool],
    is_over: Callable[[], bool],
) -> Said:
    """Ask the model; raise if its words are of no use, with their tokens counted."""
    try:
        completion = process.model().complete(request, seconds, is_cancelled=is_over)
    except ModelRefusalError as exc:
        log.warning("agent_model_refused", reason=exc.reason)
        failed = ModelFailedError("model_unavailable", is_final=True)
        failed.names_no_tools = exc.reason == "refused"
        raise failed from exc
    except ModelOutageError as exc:
        log.warning("agent_model_failed", reason=exc.reason)
        failed = ModelFailedError(_failure(exc))
        failed.pause_seconds = float(exc.retry_after_seconds or PAUSE_SECONDS)
        raise failed from exc
    except LogchordError as exc:
        log.warning("agent_model_not_asked", code=exc.error_code)
        raise ModelFailedError("model_unavailable") from exc
    try:
        calls, is_native = read_calls(completion, offered)
    except MalformedCallError as exc:
        _keep_spent(process, claim, completion)
        raise ModelFailedError("model_malformed") from exc
    if not calls and not completion.text.strip():
        _keep_spent(process, claim, completion)
        raise ModelFailedError("model_malformed")
    return Said(completion, calls, is_native, 0)


def _failure(error: ModelOutageError) -> ExitReason:
    malformed = error.reason in {"malformed", "endless"}
    return "model_malformed" if malformed else "model_unavailable"


def _pause(seconds: float, is_over: Callable[[], bool]) -> None:
    """Wait as long as a busy endpoint asks for, or until the turn is lost."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if is_over():
            raise TurnLostError
        threading.Event().wait(0.05)


def _keep_spent(process: AgentProcess, claim: Claim, said: Completion) -> None:
    with connection(process.pool) as conn:
        tokens = (said.tokens_in or 0, said.tokens_out or 0)
        turn_rows.keep_spent_tokens(conn, claim, tokens)
