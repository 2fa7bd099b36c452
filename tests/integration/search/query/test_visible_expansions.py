"""What words of a question were taken for is told where a visible hit has it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from api.cli.search import debug
from shared.entries.draft import EntryDraft
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.text.facility.facility import Facility
from shared.times.calendar import Clock
from tests.support.fixtures.asking import ANNA, BEN

BPM = Facility(glossary=(("BPM", "beam position monitor"),))
READ_MS = 10_000


def answered(asking: Any, query: str, **fields: Any) -> dict[str, Any]:
    plan = asking.plan(query, **fields)
    return asking.answer(plan, asking.carried_out(plan))


def message(body: dict[str, Any], code: str) -> str:
    (one,) = [one for one in body["diagnostics"] if one["code"] == code]
    return str(one["message"])


@pytest.fixture
def asking_of_two(asking: Any) -> Any:
    asking.write(
        EntryDraft("api", "open", "The klystron tripped, injection stopped"),
        EntryDraft("api", "plain", "Nothing but a klystron"),
        EntryDraft("api", "closed", "klystrom injunction", readers=("ben",)),
    )
    return asking


def test_a_misspelt_word_is_named_with_what_it_was_taken_for(asking_of_two) -> None:
    body = answered(asking_of_two, "klystrn tripped")
    told = message(body, "fuzzy_fallback")
    assert told.endswith(": `klystrn` as klystron.")
    # Whoever may see both is told both.
    asking_of_two.write(EntryDraft("api", "two", "klystrom tripped", readers=("ben",)))
    plan = asking_of_two.plan("klystrn tripped", scope=BEN)
    body = asking_of_two.answer(plan, asking_of_two.carried_out(plan))
    assert "klystron, klystrom" in message(body, "fuzzy_fallback")


def test_a_word_that_only_asks_is_taken_for_no_other(asking: Any) -> None:
    asking.write(
        EntryDraft("api", "one", "The klystron is warm"),
        EntryDraft("api", "two", "Der Dichtring ist wieder dicht"),
    )
    body = answered(asking, "Warum ist der Dichtrign warm")
    assert message(body, "fuzzy_fallback").endswith(": `Dichtrign` as dichtring.")


def test_a_pattern_is_named_with_words_of_visible_hits_alone(asking_of_two) -> None:
    body = answered(asking_of_two, "inj*")
    assert message(body, "terms_expanded") == "Searched for as well: `inj*` as inject."
    assert answered(asking_of_two, "klystron")["diagnostics"] == []
    # Nothing was found by it, and so it is nothing's name.
    assert answered(asking_of_two, "injun*")["diagnostics"] == []


def test_the_plan_has_the_terms_and_the_queries_that_were_sent(asking_of_two) -> None:
    body = answered(asking_of_two, 'inj* -vacuum "klystron tripped"', debug=True)
    plan = body["plan"]
    words = {one["word"]: one for one in plan["terms"]}
    assert words["inj*"]["how"] == "pattern"
    assert words["inj*"]["terms"] == ["inject"]
    assert words["vacuum"]["negated"] is True
    (phrase,) = plan["phrases"]
    assert phrase["places"] == [["klystron"], ["trip"]]
    (asked,) = plan["tsquery"]
    assert asked["languages"] == ["en"]
    assert "'klystron' <-> 'trip'" in asked["query"]
    assert "'inject'" in asked["query"]
    assert "injunct" not in json.dumps(plan)
    assert plan["opensearch_query"] is None
    lines = "\n".join(debug.lines(body, 200))
    assert "en  inj* (pattern) -> inject\n" in lines
    assert "en  -vacuum (word) -> vacuum" in lines


def test_the_plan_says_which_misspelt_word_was_searched_as_which(asking_of_two) -> None:
    plan = answered(asking_of_two, "klystrn tripped", debug=True)["plan"]
    words = {one["word"]: (one["how"], one["terms"]) for one in plan["terms"]}
    assert words["klystrn"] == ("spelling", ["klystron"])
    assert words["tripped"] == ("word", ["trip"])
    assert "klystrom" not in json.dumps(plan)


def test_the_plan_has_the_time_that_was_read_from_the_words(asking_of_two) -> None:
    question = SearchQuery("klystron since June 2024", mode="keyword", debug=True)
    clock = Clock(datetime(2024, 6, 12, 12, tzinfo=UTC), "Europe/Zurich")
    plan = make_plan(question, ANNA, PlanLimits(opensearch=False), clock)
    body = in_facility(asking_of_two, plan)
    assert body["plan"]["time"] == body["time"]
    assert body["time"]["inferred"] is True
    lines = "\n".join(debug.lines(body, 200))
    assert "read from since June 2024: entry_time 2024-05-31T22:00:00Z to ..." in lines
    assert [one["word"] for one in body["plan"]["terms"]] == ["klystron"]


def test_the_plan_has_what_opensearch_was_asked_where_it_was(asking_of_two) -> None:
    asking = asking_of_two
    by_postgres = asking.plan("inj* tripped", debug=True)
    ((found,),) = asking.carried_out(by_postgres).values()
    plan = replace(by_postgres, branches=("os_bm25",))
    told = asking.answer(plan, {0: [replace(found, name="os_bm25")]})["plan"]
    sent = told["opensearch_query"]
    (guard,) = sent["query"]["bool"]["should"]
    words = guard["bool"]["must"][0]["bool"]["must"]
    ways = [one["bool"]["should"] for one in words]
    assert {"terms": {"stream": ["inject"]}} in ways[0]
    assert {"term": {"stream": {"value": "trip"}}} in ways[1]
    assert {"term": {"tenant": "default"}} in sent["query"]["bool"]["filter"]


def test_a_form_of_the_glossary_is_named_where_a_hit_has_it(asking: Any) -> None:
    asking.write(EntryDraft("api", "one", "A beam position monitor failed"))
    told = in_facility(asking, asking.plan("BPM failed", debug=True))
    said = "Searched for as well: `BPM` as beam position monitor."
    assert message(told, "terms_expanded") == said
    (bpm, _) = told["plan"]["terms"]
    assert (bpm["how"], bpm["terms"]) == ("glossary", ["bpm", "beam posit monitor"])
    assert in_facility(asking, asking.plan("failed"))["diagnostics"] == []


def in_facility(asking: Any, plan: Plan) -> dict[str, Any]:
    asking.context = replace(asking.context, facility=BPM)
    return asking.answer(plan, asking.carried_out(plan))
