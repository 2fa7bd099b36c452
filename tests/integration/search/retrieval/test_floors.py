"""Floors are quantities of their own: each moves its gate, and no other."""

from dataclasses import replace
from typing import Any

from shared.entries.draft import EntryDraft
from shared.search.pipelines.plan_settings import limits_of
from shared.search.retrieval.search_context import chosen_floor
from shared.settings.settings import Settings
from tests.support.fixtures.asking import Asking

MEANING = "SEARCH_MODULES__SEMANTIC__SETTINGS__SIMILARITY_THRESHOLD"
SPELLING = "KEYWORD__FUZZY_THRESHOLD"
RELEVANCE = "SEARCH__MIN_RELEVANCE_SCORE"
SHIPPED = {MEANING: "0.1", SPELLING: "0.3", RELEVANCE: "0.0"}
# What each of them is told as.
CALLED = {
    MEANING: "similarity_threshold",
    SPELLING: "fuzzy_threshold",
    RELEVANCE: "min_relevance_score",
}


def gates(asking: Asking, changed: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what each floor lets pass and how it is told, with one of them at 0.95."""
    said = SHIPPED | ({changed: "0.95"} if changed else {})
    settings = Settings.load({f"LOGCHORD_{name}": one for name, one in said.items()})
    least = settings.search.min_relevance_score
    floor = settings.search_modules.semantic.settings.similarity_threshold
    asking.context = replace(asking.context, similarity_threshold=chosen_floor(floor))

    def answer(query: str, mode: str) -> dict[str, Any]:
        plan = asking.plan(query, mode=mode, ordering={"min_relevance_score": least})
        alike = limits_of(settings).fuzzy_threshold
        plan = replace(plan, words=replace(plan.words, fuzzy_threshold=alike))
        return asking.answer(plan, asking.carried_out(plan))

    meant = answer("magnet quenched", "semantic")
    spelt = answer("corector quenched", "keyword")
    known = answer("magnet", "keyword")
    found = {
        MEANING: meant["branches"][0]["candidates"],
        SPELLING: [one["code"] for one in spelt["diagnostics"]],
        RELEVANCE: known["suppressed"]["count"],
    }
    told = spelt["thresholds_applied"] | meant["thresholds_applied"]
    return found, told


def test_a_floor_that_is_changed_moves_its_own_gate_alone(asking: Asking) -> None:
    asking.write(
        EntryDraft("api", "one", "corrector magnet quenched"),
        EntryDraft("api", "two", "the magnet was warm, and many words follow here"),
    )
    before, told = gates(asking, None)
    assert before == {MEANING: 2, SPELLING: ["fuzzy_fallback"], RELEVANCE: 0}
    assert told == {CALLED[MEANING]: 0.1, CALLED[SPELLING]: 0.3, CALLED[RELEVANCE]: 0.0}
    for name in SHIPPED:
        after, told = gates(asking, name)
        assert {one for one in SHIPPED if after[one] != before[one]} == {name}
        assert told.get(CALLED[name], 0.95) == 0.95
