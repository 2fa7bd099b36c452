"""What is sent to OpenSearch: an exact shape, with user text as values in it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.errors import InvalidRequestError, LogchordError
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import os_bm25

SCOPE = Scope("default", "anna")
HOSTILE = (
    *("*:*", "facility:B OR *", "_exists_:x", "/.*/", "title:(((", "\\"),
    *('"}},"size":9999', '{"script":{"source":"1"}}', "tag:*) OR _source:x"),
)
# All that a body may be made of; none of them reads a text as a query.
KINDS = frozenset(
    (
        *("bool", "exists", "ids", "match_all", "match_none", "match_phrase", "range"),
        *("span_near", "span_or", "span_term", "term", "terms", "wildcard"),
    )
)
# No text of an entry comes back.
FIXED = {
    "size": 0,
    "stored_fields": "_none_",
    "docvalue_fields": ["entry_id"],
    "track_total_hits": False,
    "sort": [{"_score": "desc"}, "kind", "source", "external_id"],
}
GROUPS = frozenset({"filter", "must", "must_not", "should", "minimum_should_match"})


def plan_of(query: str, **filters: object) -> Plan:
    return make_plan(
        SearchQuery(query, mode="keyword", filters=filters), SCOPE, PlanLimits()
    )


def body_of(plan: Plan) -> dict[str, Any]:
    return os_bm25.body(Ask.lasting(plan, 1.0), compile_question(plan.tree))


def kinds(query: dict[str, Any]) -> Iterator[str]:
    """Yield every kind of query that a query is made of."""
    (kind,) = query
    yield kind
    if kind == "bool":
        assert GROUPS.issuperset(query[kind])
        for name in ("filter", "must", "must_not", "should"):
            for below in query[kind].get(name, ()):
                yield from kinds(below)
    for below in query[kind].get("clauses", ()):
        yield from kinds(below)


@pytest.mark.requirement("SEC5")
@given(st.text(max_size=60))
@example('"}},"size":9999')
@example("_exists_:x author:*) OR /.*/")
def test_any_text_is_sent_in_one_shape_and_as_values_alone(text: str) -> None:
    plan = plan_of(f"beam {text}")
    body = body_of(plan)
    assert body.keys() == {"query", "timeout", *FIXED}
    fixed = {**FIXED, "size": plan.window}
    assert {name: body[name] for name in FIXED} == fixed
    assert KINDS.issuperset(kinds(body["query"]))


@pytest.mark.requirement("SEC5")
@pytest.mark.parametrize("text", HOSTILE)
def test_what_means_something_to_opensearch_is_a_value_in_every_filter(text) -> None:
    names = ("source", "logbook", "tags", "level", "device", "metadata.run")
    for name in names:
        body = body_of(plan_of("beam", **{name: text}))
        plain = body_of(plan_of("beam", **{name: "plain"}))
        assert KINDS.issuperset(kinds(body["query"]))
        found = json.dumps(body, sort_keys=True)
        assert _shape(body) == _shape(plain), (name, found)
    # Of a person's name a part is looked for: signs of patterns are letters of it.
    people = body_of(plan_of("beam", author="a*?\\b"))["query"]["bool"]["filter"]
    assert people[-1] == {
        "bool": {"should": [{"wildcard": {"people": {"value": "*a\\*\\?\\\\b*"}}}]}
    }


@pytest.mark.requirement("SEC5")
@pytest.mark.parametrize(
    "filters",
    [
        {"script": {"source": "1"}},
        {"_source": "x"},
        {"source": {"script": {"source": "1"}}},
        {"source": {"in": [{"term": {"tenant": "other"}}]}},
        {"tags": {"query_string": {"query": "*"}}},
    ],
    ids=["script", "_source", "a script as value", "a term as value", "a query"],
)
def test_queries_within_filters_are_refused(filters: dict[str, Any]) -> None:
    with pytest.raises(LogchordError) as caught:
        plan_of("beam", **filters)
    assert isinstance(caught.value, InvalidRequestError)
    assert caught.value.status == 422


def _shape(value: Any) -> Any:
    """Return a body without its values."""
    if isinstance(value, dict):
        return {name: _shape(below) for name, below in value.items()}
    if isinstance(value, list):
        return [_shape(below) for below in value]
    return type(value)
