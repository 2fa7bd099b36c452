"""Who words the answer of an agent's search, and whether there is one at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from api.search.plan_settings import limits_of
from shared.access.scope import Scope
from shared.errors import ModuleNotEnabledError
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.query.result_detail import Synthesis
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


MODES = ("auto", "keyword", "semantic", "hybrid", "agentic", "rag")


def plan_of(given: PlanLimits, mode: str, **fields: Any) -> Any:
    asked = SearchQuery("why did the klystron trip", mode=mode, **fields)
    return make_plan(asked, Scope("default", "anna"), given)


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


@pytest.mark.requirement("S1-44", "C15")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("wanted", ["deterministic", False])
def test_marks_and_answers_are_switched_apart(
    mode: str, wanted: Any, *, is_marked: bool
) -> None:
    looks = Synthesis(marked=is_marked)
    plan = plan_of(limits(), mode, synthesize=wanted, synthesis=looks)
    if wanted is False:
        assert plan.detail.synthesis is None
        return
    assert plan.detail.synthesis == replace(looks, by="deterministic")
