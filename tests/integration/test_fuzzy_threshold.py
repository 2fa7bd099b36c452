"""How alike a word must be to stand in for a misspelt one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.searches import limits_of
from shared.entries.draft import EntryDraft
from shared.query.plan import Limits, Plan
from shared.settings import Settings


@pytest.mark.requirement("S0-29")
def test_the_setting_says_how_alike_a_word_must_be_to_a_misspelt_one(asking):
    asking.write(EntryDraft("api", "one", "corrector magnet quenched"))
    strict = limits_of(Settings.load({"LOGCHORD_KEYWORD__FUZZY_THRESHOLD": "0.9"}))
    assert (Limits().fuzzy_threshold, strict.fuzzy_threshold) == (0.3, 0.9)

    found = {}
    for alike in (Limits().fuzzy_threshold, strict.fuzzy_threshold):
        plan = replace(asking.plan("corector quenched"), fuzzy_threshold=alike)
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

    for limits, code in ((Limits(), "fuzzy_fallback"), (off, "relaxed_to_any_term")):
        asked = replace(plan, fuzzy_threshold=limits.fuzzy_threshold)
        asked = Plan.from_json(asked.to_json())
        body = asking.answer(asked, asking.carried_out(asked))
        assert [one["code"] for one in body["diagnostics"]] == [code]

    alone = replace(asking.plan("corector magn*"), fuzzy_threshold=off.fuzzy_threshold)
    (outcome,) = asking.carried_out(alone)[0]
    # Patterns stand for words all the same.
    assert len(outcome.hits) == 1
