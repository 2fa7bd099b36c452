"""A model behind the circuit of its provider, whose every word is counted."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from shared.agents.ask_model import ChatModel
from shared.answers.worded.model_tier import counted_by, refuse_silent
from shared.language_models.completion import ChatRequest, Completion
from shared.search.retrieval.circuit import Circuit

# On the average, where an endpoint does not count.
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class GuardedModel:
    """A model that is not asked for a while after it was silent several times."""

    client: ChatModel
    circuit: Circuit

    def complete(
        self, request: ChatRequest, seconds: float, *, is_cancelled: Callable[[], bool]
    ) -> Completion:
        """Return the completion with its tokens; raise at once while it rests."""
        refuse_silent(self.circuit)
        with counted_by(self.circuit):
            said = self.client.complete(request, seconds, is_cancelled=is_cancelled)
        return count_tokens(request, said)


def count_tokens(request: ChatRequest, said: Completion) -> Completion:
    """Return the completion with its tokens, estimated where the endpoint gave none."""
    tokens_in, tokens_out = said.tokens_in, said.tokens_out
    if tokens_in is None:
        heard = (*request.messages, *request.tools)
        tokens_in = _estimate(*(json.dumps(one, ensure_ascii=False) for one in heard))
    if tokens_out is None:
        called = (part for one in said.tool_calls for part in (one.name, one.arguments))
        tokens_out = _estimate(said.text, *called)
    return replace(said, tokens_in=tokens_in, tokens_out=tokens_out)


def _estimate(*texts: str) -> int:
    return -(-sum(map(len, texts)) // _CHARACTERS_A_TOKEN)
