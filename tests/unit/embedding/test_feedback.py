"""A question moved towards the best that it has found: what it does to their order."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.search.query.ordering import SHIPPED
from shared.search.query.plan import Plan
from shared.search.ranking import fusion
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.linear_rerank import shift_to_old_maximum
from shared.search.ranking.rank import rank
from shared.search.ranking.ranked_hits import RankedHits
from shared.settings.search_sections import RerankingSettings
from tests.unit.search.ranking.test_ranking import (
    HYBRID,
    hit,
    meaning,
    names,
    scores,
    with_ordering,
    words,
)


def ranked(
    own: Mapping[str, float], moved: Mapping[str, float], plan: Plan = HYBRID
) -> RankedHits:
    """Rank what was found by meaning alone, with nothing found by its words."""
    found = [words(), meaning(*(hit(name, cosine) for name, cosine in own.items()))]
    return rank(found, Facts(moved=moved), plan)


def test_hits_like_the_best_ones_rise_and_the_best_keeps_its_score() -> None:
    own = {"best": 0.6, "other": 0.5, "alike": 0.4}
    moved = {"best": 0.8, "other": 0.55, "alike": 0.65}
    assert names(ranked(own, {})) == ["best", "other", "alike"]
    order = ranked(own, moved)
    assert names(order) == ["best", "alike", "other"]
    assert scores(order) == pytest.approx(
        {"best": 0.7 * 0.6, "alike": 0.7 * 0.45, "other": 0.7 * 0.35}
    )
    alike = order.items[1]
    # Both are shown: how near it is to the question, and what it is placed by.
    assert alike.scores["cosine"] == 0.4
    assert alike.scores["moved_cosine"] == pytest.approx(0.45)


def test_words_are_weighed_beside_the_moved_question_as_beside_the_asked_one() -> None:
    found = [words(hit("words", 8.0)), meaning(hit("meant", 0.6))]
    facts = Facts(cosines={"words": 0.3}, moved={"meant": 0.7, "words": 0.5})
    told = scores(rank(found, facts, HYBRID))
    assert told == pytest.approx({"meant": 0.7 * 0.6, "words": 0.7 * 0.4 + 0.3})


def test_a_question_that_is_not_reranked_is_not_moved() -> None:
    own, moved = {"a": 0.6, "b": 0.5}, {"a": 0.1, "b": 0.9}
    order = ranked(own, moved, with_ordering(rerank=False))
    assert names(order) == ["a", "b"]
    assert all("moved_cosine" not in item.scores for item in order.items)


cosines = st.floats(-1, 1, width=16)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(cosines, cosines)))
def test_the_order_is_that_of_the_moved_question_on_the_scale_of_the_asked_one(both):
    own = {name: one for name, (one, _) in both.items()}
    moved = {name: one for name, (_, one) in both.items()}
    found = [meaning(*(hit(name, cosine) for name, cosine in own.items()))]
    fused = fusion.fuse(found, 60, {})
    near = shift_to_old_maximum(fused, {}, moved)
    assert near.keys() == own.keys()
    if near:
        assert max(near.values()) == pytest.approx(max(own.values()))
    gaps = {name: moved[name] - near[name] for name in near}
    assert all(gap == pytest.approx(next(iter(gaps.values()))) for gap in gaps.values())
    # Of what was not moved, nothing is said.
    assert shift_to_old_maximum(fused, {}, {}) == {}


def test_how_far_a_question_moves_is_a_setting_from_nothing_to_all_of_the_mean():
    shipped = RerankingSettings()
    assert shipped.feedback == SHIPPED.feedback
    assert RerankingSettings(feedback=0).feedback == 0
    assert RerankingSettings(feedback=1).feedback == 1
    for beyond in (-0.01, 1.01):
        with pytest.raises(ValidationError):
            RerankingSettings(feedback=beyond)
