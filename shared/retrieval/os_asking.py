"""Asking OpenSearch in time: whole answers, every failure told to the circuit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from shared.errors import LogchordError, OpenSearchError
from shared.opensearch import client as opensearch
from shared.opensearch import mapping
from shared.retrieval.module import Ask, Tools

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Query = dict[str, Any]
Answer = dict[str, Any]

T = TypeVar("T")

# What it takes to read the columns of the hits, and to say that time is over.
_COLUMNS_SECONDS = 0.02
# Of the time, what is given to a question that is asked ahead.
_NEXT_SHARE = 0.5


def answered(ask: Ask, tools: Tools, query: Query) -> Answer:
    """Return what OpenSearch answers; a part of its index is no answer."""
    index = mapping.read_alias(tools.index)

    def send(client: OpenSearch, seconds: float) -> Answer:
        given = {"request_timeout": seconds}
        answer: Answer = client.search(index=index, body=query, params=given)
        return answer

    return _whole(ask, tools, lambda: _sent(ask, tools, send))


def answered_with_next(
    ask: Ask, tools: Tools, query: Query, following: Query
) -> tuple[Callable[[], Answer], Callable[[], Answer]]:
    """Return what both answers are once they are needed; the second fails nobody else.

    Nor is it waited for too long: late, it is asked for anew once it is needed.
    """
    index = mapping.read_alias(tools.index)
    # Both are answered when the last one is.
    limit_ms = max(1, int(ask.budget_ms * _NEXT_SHARE))
    early = {**following, "timeout": f"{limit_ms}ms"}
    lines = [{}, query, {}, early]

    def send(client: OpenSearch, seconds: float) -> Answer:
        given = {"request_timeout": seconds}
        answer: Answer = client.msearch(index=index, body=lines, params=given)
        return answer

    one, two = _told(ask, tools, lambda: _sent(ask, tools, send))["responses"]
    first, second = (
        partial(_whole, ask, tools, partial(_one_of, answer)) for answer in (one, two)
    )
    if two.get("timed_out"):
        second = partial(answered, ask, tools, following)
    return first, second


def _whole(ask: Ask, tools: Tools, answer: Callable[[], Answer]) -> Answer:
    """Return an answer of the whole index."""

    def checked() -> Answer:
        found = answer()
        if found["timed_out"] or found["_shards"]["failed"]:
            # A part of the index has not answered: its hits are missing, not absent.
            raise OpenSearchError(
                "OpenSearch answered for a part of its index only.",
                technical=str(found["_shards"])[:500],
                details={"timed_out": found["timed_out"]},
            )
        return found

    found = _told(ask, tools, checked)
    tools.circuit.succeeded()
    return found


def _one_of(answer: Answer) -> Answer:
    if "error" in answer:
        raise opensearch.refusal(int(answer["status"]), str(answer["error"]["type"]))
    return answer


def _sent(
    ask: Ask, tools: Tools, send: Callable[[OpenSearch, float], Answer]
) -> Answer:
    client = tools.opensearch()
    if client is None:
        raise OpenSearchError("This system runs without OpenSearch.")
    seconds = max(0.01, ask.budget_seconds - _COLUMNS_SECONDS)
    with opensearch.translated_errors():
        return send(client, seconds)


def _told(ask: Ask, tools: Tools, step: Callable[[], T]) -> T:
    try:
        return step()
    except OpenSearchError as exc:
        if exc.retriable and not ask.again:
            # A branch counts once, however often it asks.
            tools.circuit.failed()
        if exc.details.get("timed_out"):
            message = "OpenSearch did not answer in time."
            raise LogchordError(message, code="branch_timeout") from exc
        raise
