"""Who words the answer of an agent's search, and whether there is one at all."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from shared.access.scope import Scope
from shared.agents.bounds import Bounds
from shared.agents.tools import list_tools
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.search.pipelines.plan_settings import limits_of
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.query.result_detail import Synthesis
from shared.settings.plugin_sections import BUILT_IN
from shared.settings.settings import Settings

WITH_A_MODEL = """
api: {providers: {here: {base_url: "http://127.0.0.1:9/v1"}}}
pipelines: {agent: {provider: here, model: tiny, retrieval_modules: [keyword]}}
reasoning: {total_timeout_seconds: 9}
"""


def limits(more: str = "") -> PlanLimits:
    settings = Settings.model_validate(yaml.safe_load(WITH_A_MODEL + more))
    return replace(limits_of(settings), opensearch=False)


def ask(given: PlanLimits, **fields: Any) -> Any:
    asked = SearchQuery("why did the klystron trip", mode="agent", **fields)
    return make_plan(asked, Scope("default", "anna"), given)


@pytest.mark.parametrize(
    ("wanted", "by"),
    [(None, "llm"), ("llm", "llm"), ("deterministic", "deterministic")],
)
def test_an_agent_words_its_answer_unless_it_is_not_to(wanted: Any, by: str) -> None:
    plan = ask(limits(), synthesize=wanted)
    assert plan.detail.synthesis.by == by
    # Its time is that of all its turns, its answer among them.
    assert plan.deadline_ms == 9000


def test_hits_alone_have_no_answer() -> None:
    assert ask(limits(), synthesize=False).detail.synthesis is None


def test_where_no_answers_are_wanted_there_is_no_agent() -> None:
    off = limits("synthesis: {enabled: false}")
    assert "agent" not in [one.name for one in off.pipelines]
    with pytest.raises(ModuleNotEnabledError):
        ask(off)


@pytest.mark.requirement("S0-65")
def test_an_agent_asks_modules_that_are_there_and_named_for_it_and_on() -> None:
    off = {"semantic": {"enabled": False}, "tag": {"enabled": False}}
    given = yaml.safe_load(WITH_A_MODEL) | {"search_modules": off}
    for named, offered in (
        (["keyword", "semantic"], {"keyword"}),
        (["tag", "graph", "semantic"], {"graph"}),
    ):
        given["pipelines"]["agent"]["retrieval_modules"] = named
        on = limits_of(Settings.model_validate(given))
        plan = make_plan(SearchQuery("why", mode="agent"), Scope("default", "anna"), on)
        assert offered == {*list_tools(plan)} & {*BUILT_IN}
    given["pipelines"]["agent"]["retrieval_modules"] = ["tag"]
    on = limits_of(Settings.model_validate(given))
    with pytest.raises(ModuleNotEnabledError):
        make_plan(SearchQuery("why", mode="agent"), Scope("default", "anna"), on)


@pytest.mark.requirement("S0-61")
def test_where_rag_is_switched_off_no_question_goes_to_it() -> None:
    with_a_model = yaml.safe_load(WITH_A_MODEL)
    with_a_model["pipelines"] |= {"rag": {"provider": "here", "model": "tiny"}}
    on = limits_of(Settings.model_validate(with_a_model))
    with_a_model["pipelines"]["rag"]["enabled"] = False
    off = limits_of(Settings.model_validate(with_a_model))
    asked = SearchQuery("why did the klystron trip", mode="rag")
    of_anna = Scope("default", "anna")
    assert make_plan(asked, of_anna, replace(on, opensearch=False)).method == "rag"
    with pytest.raises(ModuleNotEnabledError):
        make_plan(asked, of_anna, replace(off, opensearch=False))


@pytest.mark.requirement("S0-58")
def test_a_slow_model_is_given_the_time_of_its_setting() -> None:
    slow = limits("synthesis: {timeout_seconds: 70, provider: here, model: tiny}")

    def deadline(mode: str, given: PlanLimits, **more: Any) -> int:
        asked = SearchQuery("why did the klystron trip", mode=mode, **more)
        return make_plan(asked, Scope("default", "anna"), given).deadline_ms

    assert deadline("rag", slow) == 70_000
    assert deadline("hybrid", slow, synthesize="llm") == 70_000
    assert deadline("hybrid", slow, synthesize="deterministic") == 3000
    assert deadline("rag", limits()) == 15_000
    # A request may ask for twice that, and never for more than two minutes.
    assert deadline("rag", limits(), deadline_ms=30_000) == 30_000
    assert deadline("rag", slow, deadline_ms=120_000) == 120_000
    with pytest.raises(InvalidRequestError, match="100 to 120000"):
        deadline("rag", slow, deadline_ms=120_001)


@pytest.mark.requirement("S0-73")
def test_an_agent_takes_as_many_turns_as_its_setting_says() -> None:
    settings = Settings.model_validate({"reasoning": {"max_iterations": 3}})
    bounds = Bounds.of(settings)
    assert [bounds.is_last(turn) for turn in (2, 3)] == [False, True]
    assert bounds.stop_before([], 3) is None
    assert bounds.stop_before([], 4) == "max_turns"
    assert Bounds.of(Settings()).stop_before([], 5) is None
    assert Bounds.of(Settings()).stop_before([], 6) == "max_turns"


@pytest.mark.requirement("S3-33")
@pytest.mark.parametrize(
    ("given", "threshold"), [({}, 0.25), ({"validation_threshold": 0.4}, 0.4)]
)
def test_parts_are_held_against_the_question_at_the_threshold_of_the_settings(
    given: dict[str, float], threshold: float
) -> None:
    known = limits_of(Settings.model_validate({"agentic": given}))
    asked = SearchQuery("vacuum leak and RF trip", mode="agentic")
    plan = make_plan(asked, Scope("default", "anna"), replace(known, opensearch=False))
    assert plan.fan_out.threshold == threshold


MODES = ("auto", "keyword", "semantic", "hybrid", "agentic", "rag")


def plan_of(given: PlanLimits, mode: str, **fields: Any) -> Any:
    asked = SearchQuery("why did the klystron trip", mode=mode, **fields)
    return make_plan(asked, Scope("default", "anna"), given)


@pytest.mark.parametrize(
    ("text", "is_answered"),
    [
        ("39265", False),
        ("#39265", False),
        ("39265 source:nrc", False),
        ("39265 pump", True),
        ("OPS-39265", True),
    ],
)
def test_a_number_alone_is_looked_up_and_asks_nothing(text, *, is_answered) -> None:
    def answered(**fields: Any) -> bool:
        asked = SearchQuery(text, mode="hybrid", **fields)
        plan = make_plan(asked, Scope("default", "anna"), limits())
        return plan.detail.synthesis is not None

    assert answered() == is_answered
    assert answered(synthesize="deterministic")


@pytest.mark.requirement("S1-44", "C15")
@pytest.mark.parametrize("mode", MODES)
def test_where_answers_are_switched_off_no_mode_has_one(mode: str) -> None:
    by_name = Settings.load({"ENABLE_SYNTHESIS": "false"})
    off = replace(limits_of(by_name), opensearch=False)
    if mode != "rag":
        # That mode is its answer, and is off with them.
        assert plan_of(off, mode).detail.synthesis is None
    for wanted in ("llm", "deterministic"):
        with pytest.raises(ModuleNotEnabledError):
            plan_of(off, mode, synthesize=wanted)


@pytest.mark.requirement("S1-86")
def test_answers_are_on_unless_they_are_switched_off() -> None:
    shipped = Settings.load({}).synthesis
    assert (shipped.enabled, shipped.max_tokens) == (True, 500)
    assert (shipped.max_sources, shipped.temperature) == (5, 0.3)
    for given, written in (
        ({}, Synthesis(by="deterministic")),
        ({"LOGCHORD_SYNTHESIS__ENABLED": "false"}, None),
    ):
        known = replace(limits_of(Settings.load(given)), opensearch=False)
        assert plan_of(known, "hybrid").detail.synthesis == written


@pytest.mark.requirement("S1-44", "C15")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("wanted", ["deterministic", False])
def test_marks_and_answers_are_switched_apart(mode, wanted, *, is_marked) -> None:
    looks = Synthesis(marked=is_marked)
    plan = plan_of(limits(), mode, synthesize=wanted, synthesis=looks)
    if wanted is False:
        assert plan.detail.synthesis is None
        return
    assert plan.detail.synthesis == replace(looks, by="deterministic")
