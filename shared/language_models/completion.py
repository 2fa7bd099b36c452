"""What a language model is asked, and what it said: the OpenAI wire form, checked."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.errors import ModelOutageError, ModelRefusalError
from shared.text.decoding import mend

# What some models, or servers, refuse, and do as well without.
DISPENSABLE = ("max_tokens", "temperature", "stream_options")
# A token has four characters on the average; a model that says more heeds no bound.
_CHARACTERS_A_TOKEN = 32
_MOST_TOOL_CALLS = 64
# What vLLM, gateways and DeepSeek say of an answer that they gave up.
_BROKEN_OFF = frozenset({"abort", "error", "insufficient_system_resource"})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call of a model: messages and tools as they travel."""

    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    temperature: float = 0.0
    tools: Sequence[Mapping[str, Any]] = ()

    def body(self, model: str, refused: Collection[str] = ()) -> dict[str, Any]:
        """Return the request as an endpoint reads it, without what it has refused."""
        wanted: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "stream_options": {"include_usage": True},
        }
        given = {name: wanted[name] for name in wanted if name not in refused}
        if "max_tokens" not in given:
            # As OpenAI's reasoning models call it.
            given["max_completion_tokens"] = self.max_tokens
        return {
            "model": model,
            "messages": list(self.messages),
            "stream": True,
            **given,
            **({"tools": list(self.tools)} if self.tools else {}),
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to have called; its arguments are its own text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole answer of a model."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    # None where the endpoint does not count.
    tokens_in: int | None
    tokens_out: int | None
    first_ms: float | None = None
    took_ms: float = 0.0


class CompletionReader:
    """Puts the parts of a streamed answer together, in any order of its tool calls."""

    def __init__(self, request: ChatRequest) -> None:
        self._most = request.max_tokens * _CHARACTERS_A_TOKEN
        self._thoughts = ThoughtFilter()
        self._texts: list[str] = []
        # By index, and among those that share one in the order in which they came.
        self._calls: dict[tuple[int, int], dict[str, str]] = {}
        self._newest: dict[int, int] = {}
        self._last_index = 0
        self._characters = 0
        self._usage: Mapping[str, Any] = {}
        self.finish_reason: str | None = None

    def read(self, event: Any) -> str:
        """Read one part of the answer; return the text that it adds."""
        if not isinstance(event, dict):
            raise malformed("a part is no object")
        if event.get("error"):
            raise ModelOutageError(reason="error", technical=str(event["error"])[:200])
        choices, usage = event.get("choices"), event.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        if not isinstance(choices, list):
            if usage is None:
                raise malformed("a part without choices")
            return ""
        try:
            return "".join(map(self._choice, choices[:1]))
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise malformed(f"a part of another shape: {exc!r}") from exc

    def completion(self, first_ms: float | None, took_ms: float) -> Completion:
        """Return the whole answer; one that nobody finished was cut."""
        if self.finish_reason is None or self.finish_reason in _BROKEN_OFF:
            told = f"finish_reason {self.finish_reason}"
            raise ModelOutageError(reason="cut", technical=told)
        if self.finish_reason == "content_filter":
            raise ModelRefusalError(reason="content_filter")
        return Completion(
            # Whole at last: two halves of a pair may have come in two parts.
            text=mend("".join([*self._texts, self._thoughts.end()]))[0],
            tool_calls=tuple(
                ToolCall(**{name: mend(said)[0] for name, said in call.items()})
                for _, call in sorted(self._calls.items())
            ),
            finish_reason=self.finish_reason,
            tokens_in=_count(self._usage.get("prompt_tokens")),
            tokens_out=_count(self._usage.get("completion_tokens")),
            first_ms=first_ms,
            took_ms=took_ms,
        )

    def _choice(self, choice: Mapping[str, Any]) -> str:
        # A whole answer has a message where a streamed one has deltas.
        delta = choice.get("delta") or choice.get("message") or {}
        if refusal := delta.get("refusal"):
            raise ModelRefusalError(reason="declined", technical=str(refusal)[:200])
        text = _read_content(delta.get("content") or "")
        called = delta.get("tool_calls") or ()
        for place, call in enumerate(called):
            # Some number no call; one alone then goes on with the last.
            self._add_call(place if len(called) > 1 else self._last_index, call)
        self._bound(len(text))
        text = self._thoughts.read(text)
        self._texts.append(text)
        if reason := choice.get("finish_reason"):
            self.finish_reason = str(reason)
        return mend(text)[0]

    def _add_call(self, place: int, delta: Mapping[str, Any]) -> None:
        given, called = delta.get("index"), delta.get("function") or {}
        index = self._last_index = place if given is None else int(given)
        said = called.get("arguments")
        added = said if isinstance(said, str) else _dump_object(said)
        newest = self._newest.setdefault(index, 0)
        call = self._calls.get((index, newest))
        if call is not None and _is_another(call, delta.get("id"), called, added):
            newest = self._newest[index] = newest + 1
            call = None
        if call is None:
            call = {"id": "", "name": "", "arguments": ""}
            self._calls[index, newest] = call
        if not 0 <= index < _MOST_TOOL_CALLS or len(self._calls) > _MOST_TOOL_CALLS:
            raise malformed(f"tool call {index}")
        call["id"] = str(delta.get("id") or call["id"])
        call["name"] = str(called.get("name") or call["name"])
        call["arguments"] += added
        self._bound(len(added))

    def _bound(self, added: int) -> None:
        self._characters += added
        if self._characters > self._most:
            raise ModelOutageError(
                reason="endless", technical=f"over {self._most} characters"
            )


def _read_content(content: Any) -> str:
    """Return the text of an answer's content, which Mistral tells from thoughts."""
    if isinstance(content, list):
        texts = (one["text"] for one in content if one["type"] == "text")
        content = "".join(texts)
    if not isinstance(content, str):
        raise malformed("content that is no text")
    return content


def _is_another(
    call: Mapping[str, str], id_: Any, called: Mapping[str, Any], added: str
) -> bool:
    """Tell whether a part begins a call of its own under an index that is taken.

    Ollama and Gemini send each call whole, all of them as number 0. An id alone tells
    nothing: vLLM made one up for each part.
    """
    if not (called.get("name") and call["name"]):
        return False
    if id_ and call["id"]:
        return bool(id_ != call["id"])
    return bool(added) and _is_whole(call["arguments"])


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _dump_object(said: Any) -> str:
    """Return arguments that come as an object, as the text that they should be."""
    return "" if said is None else json.dumps(said, ensure_ascii=False)


def malformed(told: str) -> ModelOutageError:
    """Return that an endpoint speaks something else."""
    return ModelOutageError(reason="malformed", technical=told)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


_OPENS, _CLOSES = "<think>", "</think>"


class ThoughtFilter:
    """Keeps back what a text begins with, if that is thoughts."""

    def __init__(self) -> None:
        # What may be a part of a tag.
        self._held = ""
        self._is_thinking = self._is_answering = False

    def read(self, text: str) -> str:
        """Return as much of the answer as is known to be none of the thoughts."""
        if self._is_answering:
            return text
        self._held += text
        if not self._is_thinking:
            begins = self._held.lstrip()
            if len(begins) < len(_OPENS) and _OPENS.startswith(begins):
                return ""
            if not begins.startswith(_OPENS):
                self._is_answering, self._held = True, ""
                return begins
            self._is_thinking = True
        before, tag, answer = self._held.partition(_CLOSES)
        self._held = "" if tag else before[-len(_CLOSES) :]
        self._is_thinking = not tag
        answer = answer.lstrip()
        self._is_answering = bool(answer)
        return answer

    def end(self) -> str:
        """Return the rest of the answer: no tag came behind what was kept back."""
        held, self._held = self._held, ""
        return "" if self._is_thinking else held
