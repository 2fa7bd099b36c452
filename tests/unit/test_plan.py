"""From a question to a plan: modes, bounds, filters, faults; nothing is ignored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared.access.scope import Scope
from shared.errors import CODES, InvalidRequestError, ModuleNotEnabledError
from shared.query import fault as faults
from shared.query import filters
from shared.query.fault import Fault
from shared.query.filters import Filters
from shared.query.language import wording
from shared.query.plan import Limits, Plan, Question, make_plan

SCOPE = Scope("default", "anna", ("ops",), ("log-a",), frozenset({"search"}), "k1")
LIMITS = Limits()


def plan_of(query: str = "beam loss", **fields: object) -> Plan:
    return make_plan(Question(query=query, **fields), SCOPE, LIMITS)  # type: ignore[arg-type]


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


def test_without_opensearch_the_keyword_branch_is_postgres() -> None:
    limits = replace(LIMITS, opensearch=False)
    plan = make_plan(Question("beam", mode="hybrid"), SCOPE, limits)
    assert plan.branches == ("pg_fts", "semantic")


def test_auto_says_why_it_chose_its_mode() -> None:
    plan = plan_of(mode="auto")
    assert (plan.method, plan.asked) == ("hybrid", "auto")
    assert plan.reasoning.startswith("auto ")


def test_auto_uses_what_is_left_when_a_module_is_switched_off() -> None:
    limits = replace(LIMITS, enabled=frozenset({"keyword"}))
    assert make_plan(Question("beam"), SCOPE, limits).method == "keyword"


@pytest.mark.parametrize("mode", ["rag", "agentic", "agent"])
def test_a_mode_that_is_not_built_is_refused_by_name(mode: str) -> None:
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(mode=mode)
    assert caught.value.error_code == "module_not_enabled"
    assert "hybrid" in caught.value.details["available"]


def test_a_switched_off_module_is_refused_before_anything_is_searched() -> None:
    limits = replace(LIMITS, enabled=frozenset({"keyword"}))
    with pytest.raises(ModuleNotEnabledError) as caught:
        make_plan(Question("beam", mode="semantic"), SCOPE, limits)
    assert caught.value.details["available"] == ["auto", "keyword"]


def test_an_unknown_mode_names_those_there_are() -> None:
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(mode="telepathy")
    assert caught.value.error_code == "unknown_mode"


@pytest.mark.parametrize(("length", "cut"), [(1000, False), (1001, True)])
def test_a_query_is_cut_at_its_limit_and_says_so(length: int, cut: bool) -> None:  # noqa: FBT001
    plan = plan_of("x" * length)
    assert len(plan.query) == 1000
    assert [d.code for d in plan.diagnostics] == ["query_truncated"] * cut


def test_a_query_beyond_the_hard_limit_is_refused() -> None:
    assert len(plan_of("x" * 10_000).query) == 1000
    with pytest.raises(InvalidRequestError) as caught:
        plan_of("x" * 10_001)
    assert caught.value.error_code == "query_too_long"


@pytest.mark.parametrize("query", ["", "  \t\n", "AND OR NOT"])
def test_a_blank_query_without_filters_touches_no_backend(query: str) -> None:
    assert plan_of(query).branches == ()


def test_a_blank_query_with_filters_lists_newest_first() -> None:
    assert plan_of(" ", filters={"source": "api"}).branches == ("newest",)


@pytest.mark.parametrize("query", ["-vacuum", 'NOT "beam loss" -pump'])
def test_a_query_of_negations_only_is_the_listing_without_them(query: str) -> None:
    assert plan_of(query).branches == ("newest",)


@pytest.mark.parametrize("query", ["author:smith", "(source:a OR level:b) -trip"])
def test_a_query_of_fields_alone_is_the_listing_of_what_passes_them(query: str) -> None:
    assert plan_of(query).branches == ("newest",)


def test_fields_that_hold_for_every_hit_are_filters_of_the_plan() -> None:
    plan = plan_of("author:smith beam (off OR down)", filters={"source": "api"})
    assert plan.filters == Filters(sources=("api",), people=("smith",))
    assert wording.text_of(plan.tree) == "beam (off OR down)"


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


@pytest.mark.parametrize(("limit", "window"), [(1, 50), (25, 50), (40, 80), (100, 200)])
def test_the_window_is_twice_the_limit_within_its_bounds(
    limit: int, window: int
) -> None:
    assert plan_of(limit=limit).window == window


def test_filters_take_a_value_or_a_list() -> None:
    given = {"source_system": "api", "logbook": {"in": ["b", "a", "b"]}}
    assert filters.parse(given, max_values=100) == Filters(("api",), ("b", "a"))


def test_an_unknown_filter_names_the_allowed_ones() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        plan_of(filters={"colour": "red"})
    assert caught.value.error_code == "unknown_filter"
    assert caught.value.details["allowed"] == list(filters.BUILT)


@pytest.mark.parametrize(
    "given",
    [
        {"date_from": "2026-01-01"},
        {"metadata.run": "7"},
        {"source": {"not": ["api"]}},
        {"author": {"not": ["x"]}},
        {"level": {"gte": "a"}},
    ],
)
def test_a_filter_that_is_not_built_is_refused_and_not_ignored(
    given: dict[str, object],
) -> None:
    with pytest.raises(ModuleNotEnabledError):
        plan_of(filters=given)


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
