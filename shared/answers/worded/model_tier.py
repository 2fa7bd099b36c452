"""An answer worded by a model where one may; whatever fails, the other one stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import tenacity

from shared.answers.answer_question import PreparedAnswer
from shared.answers.prompt.context import Bounds
from shared.answers.prompt.model_prompt import ModelPrompt, PromptRules, write_prompt
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.worded_answer import StreamedText, word_answer
from shared.errors import (
    CapacityError,
    ConfigurationError,
    LanguageModelError,
    ModelOutageError,
)
from shared.language_models import chosen_model
from shared.language_models.chosen_model import ChosenModel, Purpose
from shared.language_models.completion import ChatRequest, Completion
from shared.language_models.provider import never
from shared.language_models.quota import Quota
from shared.log import get_logger
from shared.search.query.modes import RAG
from shared.search.response.answer import Answer, ModelShare, ModelStatus
from shared.search.retrieval.circuit import Circuit, Circuits

if TYPE_CHECKING:
    from shared.language_models.chat_client import ChatClient
    from shared.settings.settings import Settings

log = get_logger()

_MOST_ATTEMPTS = 3
_LEAST_SECONDS = 0.5
# What another try a moment later may mend.
_PASSES = frozenset({"unreachable", "overloaded", "rate_limited", "cut", "error"})
# Who is silent, and not wrong, is left alone for a while.
_SILENT = frozenset({"unreachable", "timeout", "overloaded"})


def hear_nothing(_: Mapping[str, Any]) -> None:
    """Hand nothing on: the whole answer is waited for."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears a model's words as they come, and may stop them."""

    hand_on: Callable[[Mapping[str, Any]], None] = hear_nothing
    is_cancelled: Callable[[], bool] = never


@dataclass(frozen=True, slots=True)
class ModelTier:
    """The models of a process: who they are, what they may read, how often."""

    settings: Settings
    # Takes one answer of a tenant's quota.
    take_answer: Callable[[str], Quota]
    circuits: Circuits = field(default_factory=Circuits)

    def word(
        self, prepared: PreparedAnswer, seconds: float, listener: Listener
    ) -> Answer:
        """Return the answer worded by a model, or as it is, and why."""
        plain, plan = prepared.answer, prepared.plan
        purpose: Purpose = "rag" if plan.method == RAG else "synthesis"
        chosen = chosen_model.choose_model(self.settings, purpose)
        if chosen is None:
            return _left_alone(plain, "no_model")
        if plain.context.status == "insufficient":
            # A refusal rests on slots that no wording fills.
            return _left_alone(plain, "refused", chosen)
        began = time.monotonic()
        try:
            prompt = write_prompt(prepared, self._rules(chosen))
        except ConfigurationError as exc:
            share = ModelShare(status="failed", model=chosen.name)
            return replace(plain, model=_failed(share, exc, time.monotonic() - began))
        if prompt is None:
            return _left_alone(plain, "excluded_logbooks", chosen)
        assembled = time.monotonic()
        share = ModelShare(
            status="ok",
            model=chosen.name,
            context_truncated=prompt.context.is_truncated,
            assemble_ms=_ms(assembled - began),
        )
        checker = Checker(next(iter(prompt.given)).facility, plan.time.zone)
        streamed = StreamedText(prepared, prompt, checker, listener.hand_on)
        try:
            told = self._ask(
                chosen,
                prompt,
                streamed,
                plan.scope.tenant,
                assembled + seconds,
                listener.is_cancelled,
            )
        except _QuotaSpentError:
            return replace(plain, model=replace(share, status="quota"))
        except (LanguageModelError, ConfigurationError, CapacityError) as exc:
            return replace(
                plain, model=_failed(share, exc, time.monotonic() - assembled)
            )
        is_cut = told.finish_reason == "length"
        streamed.end(is_cut=is_cut)
        worded = word_answer(prepared, prompt, told.text, checker, is_cut=is_cut)
        share = replace(
            share,
            status="ok" if worded.answer else "failed",
            reason=None if worded.answer else "unsupported",
            grounding_score=worded.grounding_score,
            removed=worded.removed,
            hallucinated_citations=worded.hallucinated,
            tokens_in=told.tokens_in,
            tokens_out=told.tokens_out,
            first_ms=told.first_ms,
            generate_ms=told.took_ms,
        )
        return replace(worded.answer or plain, model=share)

    def _rules(self, chosen: ChosenModel) -> PromptRules:
        rag = self.settings.pipelines.rag
        bounds = Bounds(
            rag.max_context_chars, rag.max_chars_per_entry, rag.max_context_tokens
        )
        if rag.tokenizer is not None:
            # What counts tokens costs a moment to import, and few do.
            from shared.embedding.models.token_counts import load_token_counter

            bounds = replace(bounds, count_tokens=load_token_counter(rag.tokenizer))
        excluded = chosen_model.find_excluded_logbooks(self.settings, chosen)
        return PromptRules(bounds, rag.prompt, excluded)

    def _ask(
        self,
        chosen: ChosenModel,
        prompt: ModelPrompt,
        streamed: StreamedText,
        tenant: str,
        ends_at: float,
        is_cancelled: Callable[[], bool],
    ) -> Completion:
        circuit = circuit_of(self.circuits, chosen.provider)
        if ends_at - time.monotonic() < _LEAST_SECONDS:
            raise ModelOutageError(
                reason="timeout", technical="no time was left to ask"
            )
        refuse_silent(circuit)
        if not self.take_answer(tenant).is_allowed:
            raise _QuotaSpentError
        client = chosen_model.make_client(self.settings, chosen)
        request = ChatRequest(prompt.messages, chosen.max_tokens, chosen.temperature)
        with counted_by(circuit):
            return _asked(client, request, streamed, ends_at, is_cancelled)


def refuse_silent(circuit: Circuit) -> None:
    """Raise while a provider rests that was silent several times."""
    if not circuit.allows():
        raise ModelOutageError(reason="circuit_open", technical="it was silent before")


@contextmanager
def counted_by(circuit: Circuit) -> Iterator[None]:
    """Tell the circuit of a provider whether it is silent."""
    try:
        yield
    except LanguageModelError as exc:
        if exc.reason in _SILENT:
            circuit.failed()
        raise
    circuit.succeeded()


def circuit_of(circuits: Circuits, provider: str) -> Circuit:
    """Return the circuit of a provider, the same for answers and for agents."""
    return circuits.of(f"llm:{provider}")


class _QuotaSpentError(Exception):
    """The tenant has had its answers."""


def _asked(
    client: ChatClient,
    request: ChatRequest,
    streamed: StreamedText,
    ends_at: float,
    is_cancelled: Callable[[], bool],
) -> Completion:
    """Ask, and again where that may help and there is time for another answer."""

    def is_worth_it(state: tenacity.RetryCallState) -> bool:
        exc = state.outcome and state.outcome.exception()
        if not isinstance(exc, ModelOutageError) or streamed.has_begun:
            return False
        spent = (state.seconds_since_start or 0.0) / state.attempt_number
        left = ends_at - time.monotonic() - (exc.retry_after_seconds or 0)
        return exc.reason in _PASSES and left > max(_LEAST_SECONDS, 1.5 * spent)

    def wait(state: tenacity.RetryCallState) -> float:
        exc = state.outcome and state.outcome.exception()
        told = exc.retry_after_seconds if isinstance(exc, ModelOutageError) else None
        return float(told) if told else _jittered(state)

    retrying = tenacity.Retrying(
        retry=is_worth_it,
        wait=wait,
        stop=tenacity.stop_after_attempt(_MOST_ATTEMPTS),
        reraise=True,
    )
    return retrying(
        lambda: client.complete(
            request, ends_at - time.monotonic(), streamed.hear, is_cancelled
        )
    )


_jittered = tenacity.wait_random_exponential(multiplier=0.2, max=1.0)


def _left_alone(
    plain: Answer, reason: str, chosen: ChosenModel | None = None
) -> Answer:
    name = chosen.name if chosen else None
    return replace(plain, model=ModelShare(status="off", model=name, reason=reason))


def _failed(
    share: ModelShare,
    exc: LanguageModelError | ConfigurationError | CapacityError,
    seconds: float,
) -> ModelShare:
    reason = exc.reason if isinstance(exc, LanguageModelError) else exc.error_code
    log.warning("model_not_answering", reason=reason, technical=exc.technical)
    is_outage = isinstance(exc, ModelOutageError | CapacityError)
    is_nonsense = reason in {"malformed", "endless", "too_large"}
    status: ModelStatus = "unavailable" if is_outage and not is_nonsense else "failed"
    return replace(share, status=status, reason=reason, generate_ms=_ms(seconds))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
