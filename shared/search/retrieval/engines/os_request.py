"""Asks OpenSearch in time: answers are whole, and the circuit counts every failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from shared.errors import LogchordError, OpenSearchError
from shared.opensearch import client as opensearch
from shared.opensearch import mapping
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.search_context import SearchContext

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Query = dict[str, Any]
Answer = dict[str, Any]

T = TypeVar("T")

# The same copy of a shard answers each time, for a deleted word may still count in one
# of several copies.
_SAME_COPY = {"preference": "search"}

# The time kept to read the columns of the hits, or to say that time is over.
_COLUMNS_SECONDS = 0.02
# The share of the time that a query sent ahead may take.
_NEXT_SHARE = 0.5


def answered(ask: Ask, context: SearchContext, query: Query) -> Answer:
    """Return the answer of OpenSearch; raise where a part of the index is missing."""
    index = mapping.read_alias(context.index)

    def send(client: OpenSearch, seconds: float) -> Answer:
        given = {"request_timeout": seconds, **_SAME_COPY}
        answer: Answer = client.search(index=index, body=query, params=given)
        return answer

    return _whole(ask, context, lambda: _sent(ask, context, send))


def answered_with_next(
    ask: Ask, context: SearchContext, query: Query, *following: Query
) -> list[Callable[[], Answer]]:
    """Send several queries at once; return a function for each answer.

    A failure of a later query is raised only when its answer is needed. One that is
    late is not waited for: it is sent anew when its answer is needed.
    """
    index = mapping.read_alias(context.index)
    # The answers come together, when the last one is ready.
    limit_ms = max(1, int(ask.budget_ms * _NEXT_SHARE))
    lines: list[Query] = [_SAME_COPY, query]
    for one in following:
        lines += [_SAME_COPY, {**one, "timeout": f"{limit_ms}ms"}]

    def send(client: OpenSearch, seconds: float) -> Answer:
        given = {"request_timeout": seconds}
        answer: Answer = client.msearch(index=index, body=lines, params=given)
        return answer

    told = _told(ask, context, lambda: _sent(ask, context, send))["responses"]
    answers: list[Callable[[], Answer]] = []
    for asked, answer in zip((query, *following), told, strict=True):
        if answers and answer.get("timed_out"):
            answers.append(partial(answered, ask, context, asked))
        else:
            answers.append(partial(_whole, ask, context, partial(_one_of, answer)))
    return answers


def _whole(ask: Ask, context: SearchContext, answer: Callable[[], Answer]) -> Answer:
    """Return an answer, or raise where a part of the index did not answer."""

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

    found = _told(ask, context, checked)
    context.circuit.succeeded()
    return found


def _one_of(answer: Answer) -> Answer:
    if "error" in answer:
        raise opensearch.refusal(int(answer["status"]), str(answer["error"]["type"]))
    return answer


def _sent(
    ask: Ask, context: SearchContext, send: Callable[[OpenSearch, float], Answer]
) -> Answer:
    client = context.opensearch()
    if client is None:
        raise OpenSearchError("This system runs without OpenSearch.")
    seconds = max(0.01, ask.budget_seconds - _COLUMNS_SECONDS)
    with opensearch.translate_engine_errors():
        return send(client, seconds)


def _told(ask: Ask, context: SearchContext, step: Callable[[], T]) -> T:
    try:
        return step()
    except OpenSearchError as exc:
        if exc.retriable and not ask.again:
            # A branch counts as one failure, however often it asks.
            context.circuit.failed()
        if exc.details.get("timed_out"):
            message = "OpenSearch did not answer in time."
            raise LogchordError(message, code="branch_timeout") from exc
        raise
