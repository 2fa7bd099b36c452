"""What OpenSearch is asked: terms to match, and rights and filters beside them."""

from typing import Any

import pytest

from shared.access.scope import Scope
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import os_bm25
from shared.text.facility.facility import PLAIN

ANNA = Scope("default", "anna", ("ops",), ("shift",))
SCOPE: list[dict[str, Any]] = [
    {"term": {"tenant": "default"}},
    {"terms": {"readers": ["*", *ANNA.params["principals"]]}},
    {
        "bool": {
            "should": [
                {"bool": {"must_not": [{"exists": {"field": "visible_from"}}]}},
                {"range": {"visible_from": {"lte": "now"}}},
            ]
        }
    },
    {"terms": {"logbooks": ["shift"]}},
]


def body(query: str, filters: dict[str, str], limit: int = 10) -> dict[str, Any]:
    question = SearchQuery(query, mode="keyword", limit=limit, filters=filters)
    plan = make_plan(question, ANNA, PlanLimits())
    ask = Ask.lasting(plan, 2.0)
    return os_bm25.body(ask, compile_question(plan.tree, PLAIN))


@pytest.mark.requirement("S1-34")
def test_words_must_match_and_rights_stand_beside_them() -> None:
    asked = body("HCM03", {}, limit=40)
    assert asked["size"] == 80
    # What scores alike at the edge of the window is not left to chance.
    assert asked["sort"][1:] == ["kind", "source", "external_id"]
    assert asked["query"]["bool"]["filter"] == SCOPE
    assert asked["query"]["bool"]["minimum_should_match"] == 1
    # One way for each language, each of which has to match its own terms.
    ways = [way["bool"] for way in asked["query"]["bool"]["should"]]
    assert ways
    for way in ways:
        assert way.keys() == {"filter", "must"}
    assert "hcm3" in str([way["must"] for way in ways])


@pytest.mark.requirement("S1-62")
def test_each_equality_is_a_clause_and_times_are_a_range() -> None:
    given = {"source": "api", "tags": "rf", "level": "trip"}
    dates = {"date_from": "2026-03-02", "date_to": "2026-03-03"}
    asked = body("beam", {**given, **dates})
    beside = asked["query"]["bool"]["filter"][len(SCOPE) :]
    clauses = [next(iter(one)) for one in beside]
    assert clauses == ["terms", "terms", "terms", "range"]
    assert beside[0] == {"terms": {"source": ["api"]}}
    assert [list(one["terms"]) for one in beside[1:3]] == [["facts"], ["facts"]]
    assert "rf" in str(beside[1])
    assert "trip" in str(beside[2])
    assert beside[3] == {
        "range": {
            "entry_time": {
                "gte": "2026-03-02T00:00:00.000+00:00",
                "lt": "2026-03-04T00:00:00.000+00:00",
            }
        }
    }
    assert body("beam", {})["query"]["bool"]["filter"] == SCOPE
