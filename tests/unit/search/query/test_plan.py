"""From a question to a plan: modes, bounds, filters, faults; nothing is ignored."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest

from api.search.schemas.search import SearchRequest, SearchResponse
from shared.access.scope import Scope
from shared.errors import (
    CODES,
    Category,
    InvalidRequestError,
    ModuleNotEnabledError,
    Severity,
)
from shared.search.query import fault as faults
from shared.search.query.fault import Fault
from shared.search.query.filters import filters
from shared.search.query.filters.fact_filters import Part
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree_text
from shared.search.query.modes import MODES
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response.respond import nothing_asked
from shared.search.retrieval.module_contract import Ask
from shared.settings.settings import Settings
from shared.text.facility.facility import PLAIN, Facility
from shared.times.calendar import Clock

SCOPE = Scope("default", "anna", ("ops",), ("log-a",), frozenset({"search"}), "k1")
LIMITS = PlanLimits()


def plan_of(query: str = "beam loss", **fields: object) -> Plan:
    return make_plan(SearchQuery(query=query, **fields), SCOPE, LIMITS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "branches"),
    [
        ("keyword", ("os_bm25",)),
        ("semantic", ("semantic",)),
        ("vector", ("semantic",)),
        ("hybrid", ("os_bm25", "semantic")),
        ("auto", ("os_bm25", "semantic")),
    ],
)
def test_each_mode_has_its_branches(mode: str, branches: tuple[str, ...]) -> None:
    assert plan_of(mode=mode).branches == branches


@pytest.mark.parametrize(
    ("fields", "any_word"),
    [
        ({"mode": "hybrid"}, True),
        ({"mode": "auto"}, True),
        ({"mode": "keyword"}, False),
        # A name alone is asked for by words, and one module is no leg of several.
        ({"mode": "auto", "query": "HCM03"}, False),
        ({"mode": "hybrid", "modules": ["os_bm25"]}, False),
        ({"mode": "keyword", "any_word": True}, True),
        ({"mode": "hybrid", "sort": "newest"}, False),
        ({"mode": "hybrid", "exhaustive": True}, False),
    ],
)
def test_any_plain_word_is_enough_beside_another_branch(fields, any_word) -> None:
    question = SearchQuery(**{"query": "beam loss", **fields})
    plan = make_plan(question, SCOPE, replace(LIMITS, any_word=True))
    assert plan.words.any_word is any_word
    assert Plan.from_json(plan.to_json()).words.any_word is any_word


def test_plain_words_are_joined_by_or_there_unless_the_setting_says_and() -> None:
    assert Settings.load({}).keyword.operator == "or"
    assert not plan_of(mode="hybrid").words.any_word


def test_without_opensearch_the_keyword_branch_is_postgres() -> None:
    limits = replace(LIMITS, opensearch=False)
    plan = make_plan(SearchQuery("beam", mode="hybrid"), SCOPE, limits)
    assert plan.branches == ("pg_fts", "semantic")


def test_auto_says_why_it_chose_its_mode() -> None:
    plan = plan_of(mode="auto")
    assert (plan.method, plan.asked) == ("hybrid", "auto")
    assert plan.reasoning.startswith("auto ")


@pytest.mark.parametrize(
    ("query", "method"),
    [
        ('"beam was lost"', "keyword"),
        ("SR:C01-RF:Trip", "keyword"),
        ("LOTO-2026-0117", "keyword"),
        ('HCM03 "arc detector" -vacuum', "keyword"),
        ("HCM03 author:smith", "keyword"),
        ("SR:C??-RF*", "keyword"),
        ("BTS_*_Q? HCM0*", "keyword"),
        ("inject*", "hybrid"),
        ("SR:C??-RF* trips", "hybrid"),
        ("rodents chewed SW-12", "hybrid"),
        ('mouse "caught at nine"', "hybrid"),
        ("why did the beam trip?", "hybrid"),
    ],
)
def test_auto_searches_names_and_phrases_by_words(query: str, method: str) -> None:
    plan = plan_of(query)
    assert (plan.asked, plan.method) == ("auto", method)
    assert plan.deadline_ms == MODES[method].deadline_ms
    assert ("names and phrases" in plan.reasoning) == (method == "keyword")
    # A mode, a module or a time that is named holds whatever is asked for.
    assert plan_of(query, mode="hybrid").method == "hybrid"
    assert plan_of(query, modules=["semantic"]).branches == ("semantic",)
    assert plan_of(query, deadline_ms=6000).deadline_ms == 6000
    assert plan_of(query, ordering={"similarity_threshold": 0.5}).method == "hybrid"
    only = replace(LIMITS, enabled=frozenset({"semantic"}))
    assert make_plan(SearchQuery(query), SCOPE, only).method == "semantic"


def test_what_a_name_is_says_the_facility() -> None:
    def method(facility: Facility, query: str) -> str:
        return make_plan(SearchQuery(query), SCOPE, LIMITS, facility=facility).method

    plain = Facility(no_names=frozenset({"phase"}))
    assert method(PLAIN, "PHASE 3") == "keyword"
    assert method(plain, "PHASE 3") == "hybrid"


def test_a_long_question_is_not_looked_through_for_names() -> None:
    assert plan_of(" ".join(["HCM03"] * 30)).method == "keyword"
    assert plan_of(" ".join(["HCM03"] * 80)).method == "hybrid"


def test_auto_uses_what_is_left_when_a_module_is_switched_off() -> None:
    limits = replace(LIMITS, enabled=frozenset({"keyword"}))
    assert make_plan(SearchQuery("beam"), SCOPE, limits).method == "keyword"


@pytest.mark.parametrize("mode", ["rag", "agent"])
def test_a_mode_that_is_not_built_is_refused_by_name(mode: str) -> None:
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(mode=mode)
    assert caught.value.error_code == "module_not_enabled"
    assert "hybrid" in caught.value.details["available"]


@pytest.mark.requirement("S2-66")
def test_a_switched_off_module_is_refused_before_anything_is_searched() -> None:
    limits = replace(LIMITS, enabled=frozenset({"keyword"}))
    with pytest.raises(ModuleNotEnabledError) as caught:
        make_plan(SearchQuery("beam", mode="semantic"), SCOPE, limits)
    assert caught.value.details["available"] == ["auto", "keyword", "agentic"]
    assert caught.value.category is Category.CONFIGURATION
    assert caught.value.severity is Severity.CRITICAL


def test_an_unknown_mode_names_those_there_are() -> None:
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(mode="telepathy")
    assert caught.value.error_code == "unknown_mode"


@pytest.mark.requirement("S0-20")
@pytest.mark.parametrize(("length", "cut"), [(1000, False), (1001, True)])
def test_a_query_is_cut_at_its_limit_and_says_so(length: int, cut: bool) -> None:  # noqa: FBT001
    plan = plan_of("x" * length)
    assert len(plan.query) == 1000
    assert [d.code for d in plan.diagnostics] == ["query_truncated"] * cut


@pytest.mark.requirement("S0-20")
def test_a_query_beyond_the_hard_limit_is_refused() -> None:
    assert len(plan_of("x" * 10_000).query) == 1000
    with pytest.raises(InvalidRequestError) as caught:
        plan_of("x" * 10_001)
    assert caught.value.status == 422
    assert caught.value.error_code == "query_too_long"


@pytest.mark.parametrize("query", ["", "  \t\n", "AND OR NOT"])
def test_a_blank_query_without_filters_touches_no_backend(query: str) -> None:
    assert plan_of(query).branches == ()


def test_a_blank_query_with_filters_lists_newest_first() -> None:
    assert plan_of(" ", filters={"source": "api"}).branches == ("newest",)


@pytest.mark.parametrize("query", ["-vacuum", 'NOT "beam loss" -pump'])
def test_a_query_of_negations_only_is_the_listing_without_them(query: str) -> None:
    assert plan_of(query).branches == ("newest",)


@pytest.mark.parametrize("mode", ["auto", "keyword", "hybrid"])
@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_by_time_all_that_match_by_words_are_listed(mode: str, sort: str) -> None:
    plan = plan_of(mode=mode, sort=sort)
    assert (plan.branches, plan.method, plan.sort) == (("newest",), "keyword", sort)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_facets_are_counted_by_a_branch_of_their_own(mode: str) -> None:
    plan = plan_of(mode=mode, facets=["system", "date"])
    assert plan.branches == (*plan_of(mode=mode).branches, "facets")
    assert plan.searching == plan_of(mode=mode).branches
    assert Plan.from_json(plan.to_json()) == plan
    assert plan_of(" ", facets=["system"]).branches == ()
    assert plan_of("tag:rf", facets=["system"]).branches == ("newest", "facets")


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["colour"], "unknown_filter"),
        (["quantity"], "validation_failed"),
        (["date_from"], "validation_failed"),
        (["tag", "tags"], "validation_failed"),
        (["metadata.run"], "module_not_enabled"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(names: list[str], code: str) -> None:
    with pytest.raises((InvalidRequestError, ModuleNotEnabledError)) as caught:
        plan_of(facets=names)
    assert caught.value.error_code == code


@pytest.mark.parametrize("query", ["beam loss", "tag:rf"])
@pytest.mark.parametrize("how", [{"sort": "oldest"}, {"exhaustive": True}])
def test_by_time_threads_are_not_collapsed(query: str, how: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make_plan(SearchQuery(query, **how, by_thread=True), SCOPE, LIMITS)  # type: ignore[arg-type]
    assert caught.value.details["fields"][0]["path"] == "collapse"


@pytest.mark.parametrize("how", [{"sort": "newest"}, {"exhaustive": True}])
@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("modules", {"modules": ["keyword"]}),
        ("mode", {"mode": "pinned"}),
        ("rerank", {"ordering": {"rerank": True}}),
        ("strict", {"ordering": {"strict": True}}),
        ("similarity_threshold", {"ordering": {"similarity_threshold": 0.5}}),
    ],
)
def test_by_time_what_chooses_or_ranks_is_refused_by_name(how, path, field) -> None:
    limits = replace(LIMITS, outside=frozenset({"pinned"}))
    with pytest.raises(InvalidRequestError) as caught:
        make_plan(SearchQuery("beam", **how, **field), SCOPE, limits)
    assert caught.value.details["fields"][0]["path"] == path
    neutral = {"rerank": False, "strict": False}
    plan = make_plan(SearchQuery("beam", **how, ordering=neutral), SCOPE, limits)
    assert plan.branches == ("newest",)


@pytest.mark.parametrize("how", [{"sort": "oldest"}, {"exhaustive": True}])
def test_a_rerank_that_is_asked_for_by_time_is_said_not_to_happen(how) -> None:
    def codes(**fields: object) -> list[str]:
        plan = make_plan(SearchQuery("beam", **how, **fields), SCOPE, LIMITS)  # type: ignore[arg-type]
        return [note.code for note in plan.diagnostics]

    asked = SearchRequest(query="beam", rerank=True).question(None)
    assert codes(asks_rerank=asked.asks_rerank) == ["rerank_skipped"]
    assert codes() == []
    assert plan_of(asks_rerank=True).diagnostics == ()


def test_by_meaning_nothing_is_sorted_by_time() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        plan_of(mode="semantic", sort="newest")
    assert caught.value.details["fields"][0]["path"] == "sort"


@pytest.mark.parametrize("query", ["author:smith", "(source:a OR level:b) -trip"])
def test_a_query_of_fields_alone_is_the_listing_of_what_passes_them(query: str) -> None:
    assert plan_of(query).branches == ("newest",)


def test_fields_that_hold_for_every_hit_are_filters_of_the_plan() -> None:
    plan = plan_of("author:smith beam (off OR down)", filters={"source": "api"})
    assert plan.filters == Filters(sources=("api",), people=("smith",))
    assert tree_text.text_of(plan.tree) == "beam (off OR down)"


def test_a_plan_says_what_of_the_query_was_not_understood() -> None:
    codes = [note.code for note in plan_of("date:soon beam) OR").diagnostics]
    assert codes == ["brackets_ignored", "date_unreadable", "operator_ignored"]


@pytest.mark.parametrize(
    ("asked", "refused"), [(100, False), (99, True), (6000, False), (6001, True)]
)
def test_a_deadline_lies_between_100_and_twice_the_mode(
    asked: int,
    refused: bool,  # noqa: FBT001
) -> None:
    if refused:
        with pytest.raises(InvalidRequestError):
            plan_of(mode="hybrid", deadline_ms=asked)
    else:
        assert plan_of(mode="hybrid", deadline_ms=asked).deadline_ms == asked


@pytest.mark.requirement("S1-32")
@pytest.mark.parametrize(
    ("limit", "window"),
    [(1, 50), (10, 50), (25, 50), (40, 80), (50, 100), (100, 200), (400, 500)],
)
def test_the_window_is_twice_the_limit_within_its_bounds(limit, window) -> None:
    limits = replace(LIMITS, max_limit=400)
    plan = make_plan(SearchQuery("beam", mode="hybrid", limit=limit), SCOPE, limits)
    assert plan.window == window
    # Each branch is asked for so many.
    assert Ask.lasting(plan, 1.0).limit == window


def test_filters_take_a_value_or_a_list() -> None:
    given = {"source_system": "api", "logbook": {"in": ["b", "a", "b"]}}
    assert filters.parse(given, max_values=100) == Filters(("api",), ("b", "a"))


@pytest.mark.requirement("C14")
def test_an_unknown_filter_names_the_allowed_ones() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        plan_of(filters={"colour": "red"})
    assert caught.value.error_code == "unknown_filter"
    assert caught.value.details["allowed"] == list(filters.ALLOWED)


@pytest.mark.parametrize(
    "given",
    [
        {"thread_id": {"contains": "0"}},
        {"source": {"gte": "a"}},
        {"author": {"lte": "z"}},
        {"level": {"gte": "a"}},
    ],
)
def test_a_filter_that_is_not_built_is_refused_and_not_ignored(given) -> None:
    with pytest.raises(ModuleNotEnabledError):
        plan_of(filters=given)


@pytest.mark.requirement("S1-09")
@pytest.mark.parametrize(
    "given",
    [
        {"source": {"contains": " "}},
        {"author": {"contains": "\u0301"}},
        {"category": {"in": ["x"], "contains": "y"}},
        {"logbook": {"not": []}},
        {"logbook": {"not": "ops"}},
        {"thread_id": {"not": ["x"]}},
    ],
    ids=str,
)
def test_what_a_filter_cannot_read_is_refused_by_name(given: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        plan_of(filters=given)
    (field,) = caught.value.details["fields"]
    assert field["path"].startswith(f"filters.{next(iter(given))}")


@pytest.mark.requirement("S1-09")
def test_what_is_not_wanted_travels_with_the_plan_and_joins_the_question() -> None:
    given = {
        "source": {"not": ["a"], "contains": "b"},
        "author": {"not": ["Müller"]},
        "category": {"contains": "RF"},
    }
    plan = plan_of("pump source:ab", filters=given)
    assert Plan.from_json(plan.to_json()) == plan
    told = plan.filters
    assert (told.sources, told.not_sources, told.source_parts) == (
        ("ab",),
        ("a",),
        ("b",),
    )
    assert told.not_people == ("muller",)
    assert told.fact_parts == (Part("category", "rf"),)


TIMES = Clock(datetime(2024, 6, 12, 12, tzinfo=UTC), "Europe/Zurich")


@pytest.mark.parametrize(
    ("given", "query", "since", "until", "expression"),
    [
        ({"date_from": "2024-06"}, "x", "05-31T22", None, "date_from=2024-06"),
        ({"end_date": "2024-06-10"}, "x", None, "06-10T22", "end_date=2024-06-10"),
        ({"start_date": "2024-06-10T05:00:00Z"}, "x", "06-10T05", None, None),
        ({"time_range": ["2024-06-01", "today"]}, "x", "05-31T22", "06-12T22", None),
        ({"time_range": [None, "today"]}, "x", None, "06-12T22", None),
        ({}, "x since:yesterday", "06-10T22", None, "since:yesterday"),
        (
            {"date_from": "2024-06"},
            "x since:2024-05 before:today",
            "05-31T22",
            "06-11T22",
            "date_from=2024-06 since:2024-05 before:today",
        ),
    ],
)
def test_the_requests_interval_and_the_questions_both_hold_and_are_echoed(
    given, query, since, until, expression
) -> None:
    plan = make_plan(SearchQuery(query, filters=given), SCOPE, LIMITS, TIMES)
    (applied,) = plan.time.written
    assert (applied.since, applied.until) == (plan.filters.since, plan.filters.until)
    hours = len("2024-05-31T22")
    ends = [end and end[:hours] for end in (applied.since, applied.until)]
    assert ends == [end and f"2024-{end}" for end in (since, until)]
    assert applied.zone == "Europe/Zurich"
    assert expression is None or applied.expression == expression


@pytest.mark.parametrize(
    ("query", "applied"),
    [
        ("x", []),
        (
            "x before:2024-06",
            [
                {
                    "from": None,
                    "to": "2024-05-31T22:00:00Z",
                    "zone": "Europe/Zurich",
                    "expression": "before:2024-06",
                    "confidence": 1.0,
                    "field": "entry_time",
                }
            ],
        ),
    ],
)
def test_an_answer_says_whether_and_how_the_time_was_read(query, applied) -> None:
    plan = make_plan(SearchQuery(query), SCOPE, LIMITS, TIMES)
    body = nothing_asked(Plan.from_json(plan.to_json())).to_json()
    assert body["time"] == {"applied": applied, "inferred": False}
    assert body["time_range_applied"] == bool(applied)
    SearchResponse.model_validate(body)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"date_from": "soon"}, "invalid_time"),
        ({"date_to": "06/10/2024"}, "invalid_time"),
        ({"time_range": [None, "soon"]}, "invalid_time"),
        ({"date_to": "2301-01-01T00:00:00Z"}, "time_out_of_range"),
        ({"date_from": 2024}, "filter_value"),
        ({"event_to": "soon"}, "invalid_time"),
        ({"exclude_entry_ids": ["OPS-12"]}, "filter_value"),
        ({"exclude_entry_ids": "OPS-12"}, "filter_value"),
        ({"exclude_entry_ids": []}, "length"),
        ({"entry_id": ""}, "length"),
        ({"entry_id": {"in": ["OPS-12", " "]}}, "length"),
        ({"thread_id": "OPS-12"}, "filter_value"),
        ({"metadata.run": None}, "filter_value"),
        ({"metadata.run": {}}, "filter_value"),
        ({"metadata.run": {"gte": "last"}}, "filter_value"),
        ({"metadata.run": {"lte": True}}, "filter_value"),
        ({"has_attachment": "maybe"}, "filter_value"),
        ({"has_attachment": 1}, "filter_value"),
        ({"date_from": {"in": ["2024"]}}, "filter_value"),
        ({"time_range": "2024"}, "filter_value"),
        ({"time_range": ["2024", "2024", "2024"]}, "filter_value"),
        ({"date_from": "2024", "start_date": "2024"}, "duplicate"),
        ({"date_from": "2024", "time_range": ["2024", None]}, "duplicate"),
    ],
)
def test_a_value_that_cannot_be_read_in_a_filter_is_refused(given, code) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make_plan(SearchQuery("x", filters=given), SCOPE, LIMITS, TIMES)
    assert caught.value.details["fields"][0]["code"] == code


def test_a_time_that_cannot_be_read_is_named_by_its_end_and_as_it_was_given() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make_plan(
            SearchQuery("x", filters={"time_range": ["2024", "last blursday"]}),
            *(SCOPE, LIMITS, TIMES),
        )
    assert caught.value.details["fields"][0]["path"] == "filters.date_to"
    assert str(caught.value).startswith("filters.date_to: 'last blursday' is not a")


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, {"in": "api"}, {"in": []}, {"in": [1]}, {"is": "x"}]
)
def test_a_badly_formed_filter_names_its_field(value: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        plan_of(filters={"source": value})
    assert caught.value.details["fields"][0]["path"].startswith("filters.source")


@pytest.mark.parametrize(("count", "refused"), [(100, False), (101, True)])
def test_a_filter_has_so_many_values_and_no_more(
    count: int,
    refused: bool,  # noqa: FBT001
) -> None:
    given = {"source": {"in": [str(n) for n in range(count)]}}
    if refused:
        with pytest.raises(InvalidRequestError):
            plan_of(filters=given)
    else:
        assert plan_of(filters=given).filters.sources is not None


def test_a_plan_travels_as_json_and_comes_back_the_same() -> None:
    plan = plan_of(
        'a (b OR author:c) -"d e" since:2024 f*' + "x" * 1001,
        filters={"logbook": "ops"},
        fault=Fault("semantic", delay_ms=5),
    )
    assert Plan.from_json(plan.to_json()) == plan


def test_the_rights_of_a_person_come_back_the_same() -> None:
    of_key = plan_of("beam")
    person = replace(of_key.scope, is_person=True, reads_as=("anna",))
    plan = replace(of_key, scope=person)
    assert Plan.from_json(plan.to_json()) == plan


def test_a_plan_tells_every_part_of_it_whole() -> None:
    plan = plan_of(
        'a (b OR author:c) -"d e" since:2024 f*' + "x" * 1001,
        filters={
            "logbook": "ops",
            "tag": {"in": ["rf", "ä"]},
            "metadata.current": {"gte": 1.5},
            "quantity": {"unit": "mA", "gte": 3},
        },
        fault=Fault("semantic", delay_ms=5),
        facets=["system"],
    )
    copied = {**asdict(plan), "tree": None}
    for part in ("time", "words", "detail", "record"):
        copied |= copied.pop(part)
    copied["times"] = copied.pop("written")
    # What only a person has that a gateway names, a release before those refuses.
    assert not copied["scope"].pop("is_person")
    assert copied["scope"].pop("reads_as") is None
    whole = json.loads(json.dumps(copied, default=sorted))
    assert {**json.loads(plan.to_json()), "tree": None} == whole


def test_a_plan_of_the_release_before_is_searched_as_it_was_asked() -> None:
    values = json.loads(plan_of("beam -loss").to_json())
    del values["tree"]
    assert Plan.from_values(values).tree == plan_of("beam -loss").tree


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("branch=semantic;delay_ms=500", Fault("semantic", delay_ms=500)),
        ("branch=*;empty", Fault("*", empty=True)),
        (
            "branch=os_bm25;error=opensearch_unavailable",
            Fault("os_bm25", error="opensearch_unavailable"),
        ),
    ],
)
def test_a_fault_header_says_what_goes_wrong_where(header: str, fault: Fault) -> None:
    assert faults.parse(header) == fault


@pytest.mark.parametrize(
    "header",
    ["", "empty", "branch=*", "branch=*;delay_ms=x", "branch=*;error=no", "a=b;c=d"],
)
def test_a_fault_header_that_would_do_nothing_is_refused(header: str) -> None:
    with pytest.raises(InvalidRequestError):
        faults.parse(header)


def test_every_error_code_can_be_asked_for() -> None:
    for code in CODES:
        assert faults.parse(f"branch=*;error={code}").error == code


def test_modules_of_other_packages_join_hybrid_and_are_modes_of_their_own() -> None:
    limits = replace(LIMITS, outside=frozenset({"pinned", "alarms"}))

    def branches(**fields: object) -> tuple[str, ...]:
        question = SearchQuery("beam", **fields)  # type: ignore[arg-type]
        return make_plan(question, SCOPE, limits).branches

    everything = ("os_bm25", "semantic", "alarms", "pinned")
    assert branches() == branches(mode="hybrid") == everything
    assert branches(mode="keyword") == ("os_bm25",)
    assert branches(mode="pinned") == ("pinned",)
    assert branches(modules=["pinned", "keyword", "os_bm25"]) == ("os_bm25", "pinned")
    assert branches(modules=["pg_fts", "semantic"]) == ("semantic", "pg_fts")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"modules": ["semantik"]}, "Did you mean semantic?"),
        ({"modules": ["pinned"]}, "'pinned'"),
        ({"modules": ["semantic"], "mode": "keyword"}, "The mode keyword"),
    ],
    ids=["misspelt", "not installed", "of another mode"],
)
def test_a_module_that_is_not_the_modes_is_refused_by_name(fields, named) -> None:
    with pytest.raises(ModuleNotEnabledError, match=named) as caught:
        plan_of("beam", **fields)
    assert caught.value.error_code == "module_not_enabled"
