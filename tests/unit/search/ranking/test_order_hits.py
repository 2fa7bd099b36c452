"""Hits of several sub-queries merged: pure, whichever was heard first."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.order_hits import merge, order_hits
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results.validate_candidates import cosine
from tests.unit.search.query.test_plan import SCOPE

PARTS = ("whole", "one", "other")


def hit(name: str, score: float, rrf: float = 0.01) -> Ranked:
    return Ranked(
        entry_id=name,
        chunk_id=f"{name}#0000",
        kind="logbook",
        revision=1,
        relevance_score=score,
        rrf=rrf,
        ranks={"os_bm25": 1},
        contrib={"os_bm25": rrf},
        scores={"bm25": 1.0},
        span=None,
    )


@pytest.mark.requirement("S3-38", "C27")
def test_two_finders_are_worth_1_1_times_the_better_one() -> None:
    (one,) = merge([[hit("a", 0.5, 0.02)], [hit("a", 0.4, 0.03)], []], PARTS)
    assert one.rrf == pytest.approx(1.1 * 0.03)
    assert one.factors == {"multi_source": 1.1}
    assert one.sub_queries == ("whole", "one")
    assert one.relevance_score == 0.5


@pytest.mark.requirement("S3-38")
def test_no_more_than_three_further_finders_count() -> None:
    found = [[hit("a", 0.5, 0.02)] for _ in range(6)]
    (one,) = merge(found, tuple("abcdef"))
    assert one.rrf == pytest.approx(1.1**3 * 0.02)


@pytest.mark.requirement("S3-38", "C27")
def test_every_order_of_arrival_gives_the_same_order() -> None:
    asked = SearchQuery("vacuum leak and RF trip", mode="agentic", validate=False)
    plan = make_plan(asked, SCOPE, PlanLimits())
    found = [
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("a", 9), candidate("b", 5))),
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("b", 7),), part=1),
        Outcome("tag", "ok", "tag", hits=(candidate("c", 1),), part=1),
        Outcome(
            "os_bm25", "ok", "bm25", hits=(candidate("c", 2), candidate("a", 1)), part=2
        ),
    ]
    orders = [order_hits(told, Facts(), plan) for told in itertools.permutations(found)]
    assert all(one == orders[0] for one in orders)
    by_name = {one.entry_id: one for one in orders[0].items}
    assert by_name["a"].sub_queries == (plan.sub_queries[0], plan.sub_queries[2])
    assert orders[0].found == 3


def candidate(name: str, score: float) -> Candidate:
    return Candidate(
        name, f"{name}#0000", score, "logbook", "api", "human", "2026-01-01", 1
    )


@pytest.mark.requirement("S3-33", "S3-35", "C01", "C03")
def test_a_hit_at_the_threshold_is_kept_and_one_below_it_is_not() -> None:
    asked = SearchQuery("vacuum leak and RF trip", mode="agentic")
    plan = make_plan(asked, SCOPE, PlanLimits())
    assert plan.fan_out.threshold == 0.25
    found = [
        Outcome(
            "os_bm25",
            "ok",
            "bm25",
            hits=(candidate("a", 9), candidate("b", 5), candidate("c", 1)),
        )
    ]
    facts = replace(Facts(), validation={"a": 0.25, "b": 0.2499})
    order = order_hits(found, facts, plan)
    assert {one.entry_id: one.validation_score for one in order.items} == {
        "a": 0.25,
        "c": None,
    }
    (out,) = order.beyond
    assert (out.entry_id, out.validation_score) == ("b", 0.2499)
    assert (order.validated, order.rejected) == (1, 1)


@pytest.mark.requirement("S3-36")
def test_a_cosine_is_that_of_the_directions_and_of_none_it_is_0() -> None:
    one, other = np.array([3, 4], "f4"), np.array([4, 3], "f4")
    assert cosine(one, other) == pytest.approx(24 / 25)
    assert cosine(one, np.zeros(2, "f4")) == 0.0


def test_no_hit_that_a_model_has_not_read_scores_above_one_before_it() -> None:
    asked = SearchQuery("vacuum leak and RF trip", mode="agentic", validate=False)
    plan = make_plan(asked, SCOPE, PlanLimits())
    found = [
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("a", 9), candidate("c", 8))),
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("b", 7),), part=1),
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("c", 6),), part=2),
    ]
    facts = Facts(logits={"a": 3.0, "b": -3.0})
    every = replace(plan, ordering=replace(plan.ordering, min_relevance_score=0.0))
    items = order_hits(found, facts, every).items
    assert [one.entry_id for one in items] == ["a", "b", "c"]
    scores = [one.relevance_score for one in items]
    assert scores == sorted(scores, reverse=True)
    # Nor does the least score that a model must give let it through alone.
    assert [one.entry_id for one in order_hits(found, facts, plan).items] == ["a"]


@pytest.mark.requirement("S1-35")
def test_a_hit_with_the_exact_name_is_never_below_the_least_score() -> None:
    asked = SearchQuery("BPM-112 trip and vacuum leak", mode="agentic", validate=False)
    plan = make_plan(asked, SCOPE, PlanLimits())
    found = [
        Outcome("os_bm25", "ok", "bm25", hits=(candidate("other", 9),)),
        Outcome(
            "os_bm25", "ok", "bm25", hits=(candidate("named", 0.1),), part=1, exact=True
        ),
    ]
    ordering = replace(
        plan.ordering, min_relevance_score=0.99, saturation={"bm25": 10.0}
    )
    items = order_hits(found, Facts(), replace(plan, ordering=ordering)).items
    assert [(one.entry_id, one.relevance_score) for one in items] == [("named", 0.99)]
