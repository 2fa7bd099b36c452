"""The client of a language model: one call, one absolute end, nothing believed.

Retries belong to the caller's budget. An outage may pass (`ModelOutageError`), a
refusal will not (`ModelRefusalError`); no text of an error is ever an answer.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from shared.errors import ModelOutageError, ModelRefusalError, SourceUnreachableError
from shared.http import failures
from shared.language_models.completion import (
    DISPENSABLE,
    ChatRequest,
    Completion,
    CompletionReader,
    malformed,
)
from shared.language_models.provider import Provider, Streamed, never
from shared.settings.sections import ProviderSettings

MOST_BYTES = 8_000_000
_LONGEST_LINE, _SHOWN = 1_000_000, 200
_OK, _TOO_MANY, _SERVER_ERROR = 200, 429, 500
_WRONG_KEY = frozenset({401, 403})
_END = "[DONE]"
_REASONS = {"half_body": "cut", "empty_reply": "cut", "no_connection": "unreachable"}

# A value that is too large is not one that nobody knows.
_UNKNOWN = re.compile(
    r"(?i)unsupported|not support|not permitted|unknown|unrecogni[sz]ed|unexpected"
)
_BEHIND_ITS_END = frozenset({"cut", "timeout"})


def ignore(_: str) -> None:
    """Wait for the whole of a text."""


class ChatClient:
    """Asks one model of one provider; safe to share between threads."""

    def __init__(self, provider: str, settings: ProviderSettings, model: str) -> None:
        self.model = f"{provider}:{model}"
        self._name = model
        self._server = Provider(provider, settings, self.model)
        self._most_seconds = settings.timeout_seconds
        # The parameters that this model has refused before.
        self._refused: frozenset[str] = frozenset()

    def complete(
        self,
        request: ChatRequest,
        seconds: float,
        on_text: Callable[[str], None] = ignore,
        is_cancelled: Callable[[], bool] = never,
    ) -> Completion:
        """Return the model's completion within the time, handing on its text meanwhile.

        What `on_text` raises ends the call; so does `is_cancelled`, in half a second.
        """
        ends_at = time.monotonic() + min(seconds, self._most_seconds)
        while True:
            left = ends_at - time.monotonic()
            if left <= 0:
                raise ModelOutageError(
                    reason="timeout", technical="there was no time left to ask"
                )
            refused = self._refused
            try:
                return self._ask(request, refused, left, on_text, is_cancelled)
            except ModelRefusalError as exc:
                new = _refused_parameters(exc) - refused
                if not new:
                    raise
                self._refused = refused | new

    def _ask(
        self,
        request: ChatRequest,
        refused: frozenset[str],
        seconds: float,
        on_text: Callable[[str], None],
        is_cancelled: Callable[[], bool],
    ) -> Completion:
        began = time.monotonic()
        reader, first_ms = CompletionReader(request), None
        try:
            with self._server.stream(
                "/chat/completions",
                request.body(self._name, refused),
                seconds,
                MOST_BYTES,
                is_cancelled,
            ) as answer:
                for event in _events(answer):
                    text = reader.read(event)
                    if text and first_ms is None:
                        first_ms = _ms_since(began)
                    if text:
                        on_text(text)
        except SourceUnreachableError as exc:
            reason = _REASONS.get(exc.reason or "", exc.reason or "unreachable")
            # Cut off behind its last word, or waited for in vain, it is whole.
            if reader.finish_reason is None or reason not in _BEHIND_ITS_END:
                told = exc.technical or exc.message
                raise ModelOutageError(reason=reason, technical=told) from exc
        return reader.completion(first_ms, _ms_since(began))


def _events(answer: Streamed) -> Iterator[Any]:
    """Yield the parts of an answer; one that came whole is its only part."""
    if answer.status != _OK:
        raise _failure(answer)
    if answer.media_type == "text/event-stream":
        for data in _data(answer.pieces):
            if data == _END:
                return
            yield _parsed(data)
    elif answer.media_type == "application/json":
        yield _parsed(b"".join(answer.pieces).decode("utf-8", "replace"))
    else:
        raise malformed(f"the answer is {answer.media_type[:80] or 'of no type'}")


def _data(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the data of server-sent events; the last may lack its blank line."""
    rest, said = b"", list[str]()
    for piece in chain(pieces, [b"\n\n"]):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise malformed(f"a line of over {_LONGEST_LINE} bytes")
        for line in lines:
            text = line.rstrip(b"\r").decode("utf-8", "replace")
            if text.startswith("data:"):
                said.append(text.removeprefix("data:").removeprefix(" "))
            elif not text:
                # Data without a character is a heartbeat.
                if any(said):
                    yield "\n".join(said)
                said.clear()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise malformed(f"no JSON: {text[:_SHOWN]}") from exc


def _refused_parameters(refusal: ModelRefusalError) -> frozenset[str]:
    """Return the parameters that a refusal names and a request can do without."""
    told = refusal.technical or ""
    if refusal.reason != "refused" or not _UNKNOWN.search(told):
        return frozenset()
    return frozenset(one for one in DISPENSABLE if re.search(rf"\b{one}\b", told))


def _failure(answer: Streamed) -> ModelOutageError | ModelRefusalError:
    """Return the error of a status: an outage that may pass, or a refusal."""
    shown = next(answer.pieces, b"")[:_SHOWN].decode("utf-8", "replace")
    told = f"the endpoint answered {answer.status}: {shown}"
    if answer.status in failures.LATER or answer.status >= _SERVER_ERROR:
        is_busy = answer.status == _TOO_MANY
        return ModelOutageError(
            reason="rate_limited" if is_busy else "overloaded",
            technical=told,
            retry_after_seconds=answer.retry_after,
        )
    reason = "not_authorised" if answer.status in _WRONG_KEY else "refused"
    return ModelRefusalError(reason=reason, technical=told)


def _ms_since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)
