"""What an agent's model costs, and when it is left alone."""

from dataclasses import dataclass

import pytest

from shared.agents.guarded_model import GuardedModel
from shared.answers.worded.model_tier import circuit_of
from shared.errors import LanguageModelError, ModelOutageError, ModelRefusalError
from shared.language_models.completion import ChatRequest, Completion, ToolCall
from shared.search.retrieval.circuit import OPENS_AFTER_FAILURES, Circuit, Circuits

MESSAGES = [{"role": "user", "content": "why did the klystron trip"}]
REQUEST = ChatRequest(MESSAGES, 400)
SAID = Completion(
    "abcd", (ToolCall("1", "keyword", '{"query":1}'),), "tool_calls", None, None
)


@dataclass
class Says:
    """A model that says this, or raises it."""

    outcome: Completion | LanguageModelError
    asked: int = 0

    def complete(self, *_: object, **__: object) -> Completion:
        self.asked += 1
        if isinstance(self.outcome, LanguageModelError):
            raise self.outcome
        return self.outcome


def ask(model: Says, circuit: Circuit | None = None) -> Completion:
    circuit = circuit or Circuits().of("llm:here")
    guarded = GuardedModel(model, circuit)
    return guarded.complete(REQUEST, 1.0, is_cancelled=lambda: False)


def test_where_nobody_counts_four_characters_are_a_token() -> None:
    said = ask(Says(SAID))
    # The whole message as JSON has 56 characters.
    assert said.tokens_in == 14
    assert said.tokens_out == (4 + 7 + 11 + 3) // 4


def test_what_an_endpoint_counts_stands() -> None:
    counted = Completion("abcd", (), "stop", 0, 9)
    assert ask(Says(counted)) == counted


def test_a_silent_model_is_left_alone_by_agents_and_answers_alike() -> None:
    circuits = Circuits(clock=lambda: 0.0)
    silent = Says(ModelOutageError(reason="timeout"))
    for _ in range(OPENS_AFTER_FAILURES):
        with pytest.raises(ModelOutageError):
            ask(silent, circuit_of(circuits, "here"))

    with pytest.raises(ModelOutageError) as refused:
        ask(silent, circuit_of(circuits, "here"))

    assert refused.value.reason == "circuit_open"
    assert silent.asked == OPENS_AFTER_FAILURES
    assert not circuit_of(circuits, "here").allows()
    assert circuit_of(circuits, "elsewhere").allows()


def test_a_model_that_refuses_is_not_silent() -> None:
    circuit = Circuits().of("llm:here")
    for _ in range(OPENS_AFTER_FAILURES + 1):
        with pytest.raises(ModelRefusalError):
            ask(Says(ModelRefusalError(reason="refused")), circuit)
    assert circuit.allows()
