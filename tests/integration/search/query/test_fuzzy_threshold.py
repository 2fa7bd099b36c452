"""How alike a word must be to stand in for a misspelt one."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from api.search.schemas.search import SearchRequest
from shared.entries.draft import EntryDraft
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.search.pipelines.plan_settings import limits_of
from shared.search.query.plan import Plan, PlanLimits, make_plan
from shared.settings.settings import Settings
from tests.support.fixtures.asking import ANNA


@pytest.mark.requirement("S0-29")
def test_the_setting_says_how_alike_a_word_must_be_to_a_misspelt_one(asking):
    asking.write(EntryDraft("api", "one", "corrector magnet quenched"))
    strict = limits_of(Settings.load({"LOGCHORD_KEYWORD__FUZZY_THRESHOLD": "0.9"}))
    assert (PlanLimits().fuzzy_threshold, strict.fuzzy_threshold) == (0.3, 0.9)

    found = {}
    for alike in (PlanLimits().fuzzy_threshold, strict.fuzzy_threshold):
        plan = asking.plan("corector quenched")
        plan = replace(plan, words=replace(plan.words, fuzzy_threshold=alike))
        body = asking.answer(plan, asking.carried_out(plan))
        found[alike] = [one["code"] for one in body["diagnostics"]]
        assert body["total_results"] == 1
        marked = [part for one in body["results"] for part in one["highlights"]]
        assert ("<b>corrector</b>" in " ".join(marked)) == (alike == 0.3)

    assert found == {0.3: ["fuzzy_fallback"], 0.9: ["relaxed_to_any_term"]}


@pytest.mark.requirement("S0-29")
def test_a_misspelt_word_stands_for_no_other_where_that_is_switched_off(asking):
    asking.write(EntryDraft("api", "one", "corrector magnet quenched"))
    off = limits_of(Settings.load({"LOGCHORD_KEYWORD__FUZZY": "false"}))
    plan = asking.plan("corector quenched")

    for limits, code in (
        (PlanLimits(), "fuzzy_fallback"),
        (off, "relaxed_to_any_term"),
    ):
        words = replace(plan.words, fuzzy_threshold=limits.fuzzy_threshold)
        asked = replace(plan, words=words)
        asked = Plan.from_json(asked.to_json())
        body = asking.answer(asked, asking.carried_out(asked))
        assert [one["code"] for one in body["diagnostics"]] == [code]

    alone = asking.plan("corector magn*")
    words = replace(alone.words, fuzzy_threshold=off.fuzzy_threshold)
    alone = replace(alone, words=words)
    (outcome,) = asking.carried_out(alone)[0]
    # Patterns stand for words all the same.
    assert len(outcome.hits) == 1


@pytest.mark.requirement("S0-29")
def test_a_request_says_how_alike_a_word_must_be(asking):
    asking.write(EntryDraft("api", "one", "corrector magnet quenched"))

    def told(alike: float, **fields: object) -> str:
        body = {"query": "corector quenched", "mode": "keyword", **fields}
        asked = SearchRequest(**body, fuzzy_threshold=alike).question(None)
        plan = make_plan(asked, ANNA, PlanLimits(opensearch=False))
        answer = asking.answer(plan, asking.carried_out(plan))
        applied = answer["thresholds_applied"].get("fuzzy_threshold")
        (code,) = [one["code"] for one in answer["diagnostics"]]
        assert applied == (alike if code == "fuzzy_fallback" else None)
        return code

    assert (told(0.3), told(0.9)) == ("fuzzy_fallback", "relaxed_to_any_term")
    assert told(0.4, sort="newest") == "fuzzy_fallback"


def test_how_alike_a_word_must_be_is_refused_where_none_stands_in():
    for no_share in (-0.1, 1.1, "0.3", True):
        with pytest.raises(ValidationError):
            SearchRequest(query="corector", fuzzy_threshold=no_share)
    asked = SearchRequest(query="corector", fuzzy_threshold=0.5).question(None)
    with pytest.raises(ModuleNotEnabledError, match="not looked up here"):
        make_plan(asked, ANNA, PlanLimits(fuzzy_threshold=None))
    with pytest.raises(InvalidRequestError, match="never widened"):
        make_plan(replace(asked, exhaustive=True), ANNA, PlanLimits())
