"""Ranking is pure: golden scores, one total order, and what must never change it."""

from dataclasses import replace
from math import isclose

import pytest

from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.ranking import calibration
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.fusion import rrf_contrib
from shared.search.ranking.rank import rank
from shared.search.ranking.ranked_hits import Ranked
from shared.settings.search_sections import FusionSettings
from shared.settings.settings import Settings
from tests.unit.search.ranking.test_ranking import HYBRID as PLAN
from tests.unit.search.ranking.test_ranking import hit


def branch(name: str, *hits: Candidate) -> Outcome:
    unit = {"os_bm25": "bm25", "pg_fts": "ts_rank", "semantic": "cosine"}[name]
    return Outcome(name, "ok" if hits else "empty", unit, hits=hits)


def in_order(*branches: Outcome) -> list[Ranked]:
    return list(rank(branches, Facts(), PLAN).items)


def ranked(*branches: Outcome) -> dict[str, Ranked]:
    return {item.entry_id: item for item in in_order(*branches)}


@pytest.mark.requirement("S0-49", "S1-22", "C02")
def test_a_place_is_worth_the_same_counted_from_one_and_from_nought() -> None:
    assert round(rrf_contrib(1), 6) == 0.016393
    assert rrf_contrib(2) == 1 / 62
    for place in range(1, 200):
        assert rrf_contrib(place) == 1 / (60 + (place - 1) + 1)


@pytest.mark.requirement("S0-50")
def test_first_in_two_branches_scores_two_sixty_firsts() -> None:
    found = ranked(
        branch("os_bm25", hit("a", 14.2), hit("b", 3.0)),
        branch("semantic", hit("a", 0.71), hit("c", 0.4)),
    )
    assert isclose(found["a"].rrf, 2 / 61)
    assert found["a"].ranks == {"os_bm25": 1, "semantic": 1}
    assert isclose(found["b"].rrf, 1 / 62)
    # The best branch's own score is the ceiling of what is fused.
    best = calibration.of_branch(14.2, "bm25")
    assert found["a"].relevance_score == pytest.approx(best)
    assert found["a"].calibration == "fused_minmax"


@pytest.mark.requirement("S0-51")
def test_one_list_alone_keeps_its_order_and_its_scores() -> None:
    hits = [hit(f"e{n}", 9.0 - n) for n in range(5)]
    order = in_order(branch("os_bm25", *hits), branch("semantic"))
    assert [item.entry_id for item in order] == ["e0", "e1", "e2", "e3", "e4"]
    assert [item.rrf for item in order] == [1 / (60 + n) for n in range(1, 6)]


@pytest.mark.requirement("S1-37")
def test_a_fact_in_the_tail_of_a_long_entry_found_by_both_scores_two_sixty_firsts():
    found = ranked(
        branch("os_bm25", hit("long", 9.0)),
        branch(
            "semantic",
            hit("long", 0.8, chunk=7, span=(9000, 10000)),
            hit("long", 0.3, chunk=0, span=(0, 1000)),
            hit("other", 0.2, chunk=0, span=(0, 100)),
        ),
    )
    assert isclose(found["long"].rrf, 2 / 61)
    assert found["long"].chunk_id.endswith("#0007")
    assert found["long"].span == (9000, 10000)
    # Its second chunk takes no place from another entry.
    assert found["other"].ranks == {"semantic": 2}


def test_scores_are_named_by_their_unit() -> None:
    found = ranked(branch("pg_fts", hit("a", 0.6)), branch("semantic", hit("a", 0.7)))
    assert found["a"].scores == {"ts_rank": 0.6, "cosine": 0.7}
    assert found["a"].found_by == ["pg_fts", "semantic"]


@pytest.mark.requirement("S4-20", "C42")
def test_a_branch_that_weighs_twice_counts_twice_and_one_is_what_ships() -> None:
    words, meaning = branch("os_bm25", hit("a", 9)), branch("semantic", hit("b", 0.6))
    weighed = replace(PLAN.ordering, branch_weights={"semantic": 2.0})
    plain = rank([words, meaning], Facts(), PLAN).items
    heavy = rank([words, meaning], Facts(), replace(PLAN, ordering=weighed)).items
    assert [(r.entry_id, r.rrf) for r in plain] == [("a", 1 / 61), ("b", 1 / 61)]
    assert [(r.entry_id, r.rrf) for r in heavy] == [("b", 2 / 61), ("a", 1 / 61)]


@pytest.mark.requirement("S1-87")
def test_another_k_changes_what_a_place_is_worth() -> None:
    found = [branch("os_bm25", hit("a", 9)), branch("semantic", hit("a", 0.6))]
    worth = {
        k: rank(found, Facts(), replace(PLAN, rrf_k=k)).items[0].rrf for k in (60, 10)
    }
    assert worth == {60: pytest.approx(2 / 61), 10: pytest.approx(2 / 11)}
    assert (PLAN.rrf_k, Settings.load({}).rrf_k) == (60, 60)
    assert FusionSettings().method == "rrf"


@pytest.mark.requirement("S4-79")
def test_equal_scores_are_ordered_by_kind_then_chunk() -> None:
    hits = (hit("c", 1.0), hit("b", 1.0, kind="alarm"), hit("a", 1.0))
    order = [item.entry_id for item in in_order(branch("os_bm25", *hits))]
    assert order == ["b", "a", "c"]


def test_a_failed_branch_contributes_nothing_and_lowers_no_score() -> None:
    words = branch("os_bm25", hit("a", 1.0))
    late = Outcome("semantic", "timeout", "cosine")
    assert ranked(words, late)["a"] == ranked(words)["a"]
