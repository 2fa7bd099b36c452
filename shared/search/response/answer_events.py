"""Turns a response into events of a stream: hits, then answer, then suggestions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from shared.search.query.plan import Plan
from shared.search.response.answer import Answer
from shared.search.response.answer_fields import answer_fields
from shared.search.response.respond import worth_of

MOST_ACTIONS = 3
_OF_ANSWER = ("answer", "citations", "context_answer", "citation_mode", "sources")
_OF_MODEL = ("grounding_score", "hallucinated_citations")

NO_ANSWER: Mapping[str, Any] = {
    "answer": None,
    "citations": [],
    "context_answer": None,
    "citation_mode": "none",
    "sources": [],
}
Told = tuple[str, dict[str, Any]]


def of_body(response: Mapping[str, Any]) -> list[Told]:
    """Return the events of a whole response, as it is stored and read again."""
    told = [("results", without_answer(response))]
    worth = {name: response[name] for name in _OF_ANSWER}
    status = response["llm_status"]
    if response["answer_source"] == "llm":
        # An answer by a model replaced the one by rules, which is not kept.
        status = "ok"
    elif response["context_answer"] is not None:
        told.append(("deterministic", worth))
    else:
        status = None
    if status:
        told.append(("llm_status", {"status": status, **worth, **_of_model(response)}))
    told.append(("actions", {"actions": suggest_actions(response)}))
    return told


def without_answer(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response with empty answer fields, as before there is an answer."""
    return {**response, **NO_ANSWER, "answer_source": None, "llm_status": None}


def of_answer(plan: Plan, answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer's event, by rules or after a model."""
    fields = answer_fields(plan, answer)
    return {
        "answer": answer.text,
        "citations": answer.to_json()["citations"],
        "context_answer": worth_of(plan, answer),
        "citation_mode": answer.citation_mode,
        "sources": fields["sources"],
    }


def of_model(plan: Plan, answer: Answer) -> dict[str, Any]:
    """Return the fields of the event that tells how a model fared with the answer."""
    fields = answer_fields(plan, answer)
    status = fields["llm_status"]
    return {"status": status, **of_answer(plan, answer), **_of_model(fields)}


def suggest_actions(response: Mapping[str, Any]) -> list[dict[str, str]]:
    """Suggest what a reader may do next: links and queries, never a control action."""
    return list(_actions(response))[:MOST_ACTIONS]


def _actions(response: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    cited: Sequence[Mapping[str, Any]] = response["citations"]
    for one in cited[:1]:
        label = f"Open {one['label']}"
        yield {"label": label, "href": f"{one['permalink']}@{one['revision']}"}
    results = {one["entry_id"]: one for one in response["results"]}
    first = results.get(cited[0]["entry_id"]) if cited else None
    if first and first.get("thread_id"):
        path = f"/v1/threads/{quote(str(first['thread_id']))}"
        yield {"label": "Read the thread", "href": path}
    worth = response["context_answer"] or {}
    for asked in worth.get("questions", ()):
        yield {"label": "Ask instead", "query": asked}


def _of_model(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in _OF_MODEL}
