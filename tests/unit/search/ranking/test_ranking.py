"""The rerank, the factors, the scores that are shown, and what makes the page; pure."""

import random
from dataclasses import replace
from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.embedding.models.model_names import BGE
from shared.errors import ModuleNotEnabledError
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.ordering import BESIDE, CARRIED, NAMED, SCOPED, Ordering
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.query.plan_parts import PlanDetail
from shared.search.ranking import calibration, factors, fold
from shared.search.ranking.candidate_facts import UNREAD, Facts, Kin
from shared.search.ranking.rank import rank
from shared.search.ranking.ranked_hits import Ranked, RankedHits
from shared.search.response.respond import stability_hash
from shared.settings.search_sections import RerankingSettings

ANNA = Scope("default", "anna")
HYBRID = make_plan(SearchQuery("beam", mode="hybrid"), ANNA, PlanLimits())
WORDS = make_plan(SearchQuery("beam", mode="keyword"), ANNA, PlanLimits())
MEANING = make_plan(SearchQuery("beam", mode="semantic"), ANNA, PlanLimits())


def hit(entry: str, score: float, *, chunk: int = 0, **fields: Any) -> Candidate:
    known = {"kind": "note", "source": "api", "origin": "human", "revision": 1}
    known |= {"entry_time": "2026-01-01T00:00:00+00:00", **fields}
    return Candidate(entry, f"default/api/{entry}#{chunk:04d}", score, **known)  # type: ignore[arg-type]


def words(*hits: Candidate, exact: bool = False) -> Outcome:
    return Outcome("os_bm25", "ok", "bm25", hits=hits, exact=exact)


def meaning(*hits: Candidate) -> Outcome:
    return Outcome(
        "semantic", "ok", "cosine", hits=hits, model="m", vector="AAAA", floor=0.2
    )


def scores(order: RankedHits) -> dict[str, float]:
    return {item.entry_id: round(item.relevance_score, 9) for item in order.items}


def names(order: RankedHits) -> list[str]:
    return [item.entry_id for item in order.items]


def with_ordering(plan: Plan = HYBRID, **fields: object) -> Plan:
    return replace(plan, ordering=replace(plan.ordering, **fields))  # type: ignore[arg-type]


def test_meaning_and_words_are_weighed_seven_to_three() -> None:
    order = rank(
        [
            words(hit("both", 10.0), hit("words", 5.0)),
            meaning(hit("both", 0.6), hit("meant", 0.8)),
        ],
        Facts(cosines={"words": 0.4}),
        HYBRID,
    )
    assert order.reranked
    assert scores(order) == {
        "both": round(0.7 * 0.6 + 0.3, 9),
        "meant": round(0.7 * 0.8, 9),
        "words": round(0.7 * 0.4 + 0.3 * 0.5, 9),
    }
    assert {item.calibration for item in order.items} == {"linear_map"}
    assert order.items[2].scores == {"bm25": 5.0, "cosine": 0.4}


def test_cosines_of_the_model_that_ships_count_from_where_nothing_is_near() -> None:
    near = meaning(hit("both", 0.74), hit("meant", 0.87))
    found = [
        words(hit("both", 10.0), hit("half", 5.0), hit("far", 10.0)),
        replace(near, model="bge-small-en-v1.5-int8"),
    ]
    order = rank(found, Facts(cosines={"half": 0.61, "far": 0.3}), HYBRID)
    before = {item.entry_id: item.fused for item in order.items}
    # 0.48 is 0, and 0.74 half of the way to 1.
    assert before == pytest.approx(
        {
            "meant": 0.7 * 0.75,
            "both": 0.7 * 0.5 + 0.3,
            "half": 0.7 * 0.25 + 0.3 * 0.5,
            # What is farther is no less than nothing.
            "far": 0.3,
        }
    )


@pytest.mark.requirement("C08")
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 50), st.sampled_from([0.5, 1.0, 1.5])),
        min_size=1,
        max_size=8,
    )
)
def test_the_map_of_a_model_changes_what_is_shown_and_never_the_order(drawn) -> None:
    kinds = {f"kind{n}": factor for n, (*_, factor) in enumerate(drawn)}
    plan = with_ordering(domain_weights=kinds)
    found = [
        words(*(hit(str(n), w, kind=f"kind{n}") for n, (_, w, _) in enumerate(drawn))),
        meaning(*(hit(str(n), c, kind=f"kind{n}") for n, (c, *_) in enumerate(drawn))),
    ]
    mapped = [found[0], replace(found[1], model="all-MiniLM-L6-v2-int8")]
    plainly, fitted = rank(found, Facts(), plan), rank(mapped, Facts(), plan)
    assert names(plainly) == names(fitted)
    shown = [item.relevance_score for item in fitted.items]
    assert shown == sorted(shown, reverse=True)
    assert [item.fused for item in plainly.items] == [i.fused for i in fitted.items]


@pytest.mark.requirement("C08")
def test_a_linear_score_is_shown_by_the_map_of_its_model_after_its_factors() -> None:
    found = [
        words(hit("both", 10.0)),
        meaning(
            hit("both", 0.4), hit("meant", 0.6), hit("told", 0.6, origin="machine")
        ),
    ]
    fitted = [found[0], replace(found[1], model="all-MiniLM-L6-v2-int8")]
    shown = scores(rank(fitted, Facts(), HYBRID))
    linear = {"both": 0.58, "meant": 0.42, "told": 0.42 * 0.7}
    points = calibration.LINEAR_MAPS["all-MiniLM-L6-v2-int8"]
    assert shown == {
        name: pytest.approx(calibration.between(one, points), abs=1e-9)
        for name, one in linear.items()
    }
    assert shown["meant"] == pytest.approx(0.6059, abs=1e-4)
    assert scores(rank(found, Facts(), HYBRID)) == pytest.approx(linear)


def test_an_entry_without_a_vector_takes_the_median_of_the_hits_that_have_one() -> None:
    order = rank(
        [
            words(hit("a", 8.0), hit("b", 8.0), hit("c", 8.0), hit("without", 8.0)),
            meaning(hit("a", 0.9), hit("meant", 0.1)),
        ],
        Facts(cosines={"b": 0.5, "c": 0.3}),
        HYBRID,
    )
    assert scores(order)["without"] == scores(order)["b"] == 0.65
    # What is not known is not shown as if it were.
    assert order.items[2].scores.keys() == {"bm25"}


def test_words_found_by_postgres_are_weighed_by_their_best_too() -> None:
    instead = Outcome("pg_fts", "ok", "ts_rank", hits=(hit("a", 0.06), hit("b", 0.03)))
    order = rank([instead, meaning(hit("a", 0.5), hit("b", 0.5))], Facts(), HYBRID)
    assert scores(order) == {"a": 0.65, "b": 0.5}


@pytest.mark.parametrize(
    ("facts", "second", "why"),
    [
        (Facts(), replace(meaning(hit("b", 0.6)), vector=None), "no vector"),
        (UNREAD, meaning(hit("b", 0.6)), "in time"),
    ],
    ids=["no_vector", "no_time"],
)
def test_without_a_vector_or_time_the_fused_order_stands_times_factors_and_is_told(
    facts: Facts, second: Outcome, why: str
) -> None:
    first = words(hit("a", 30.0, origin="machine"), hit("b", 10.0))
    order = rank([first, second], facts, HYBRID)
    assert not order.reranked
    assert names(order) == ["b", "a"]
    (note,) = order.notes
    assert note.code == "rerank_skipped"
    assert why in note.message
    assert order.items[1].factors == {"origin": 0.7}


def test_a_request_may_ask_for_the_fused_order_and_then_nothing_is_missing() -> None:
    plan = make_plan(
        SearchQuery("beam", mode="hybrid", ordering={"rerank": False}),
        ANNA,
        PlanLimits(),
    )
    order = rank([words(hit("a", 9.0)), meaning(hit("b", 0.9))], Facts(), plan)
    assert (order.reranked, order.notes) == (False, ())
    assert order.items[0].calibration == "fused_minmax"


@pytest.mark.requirement("S1-85")
def test_a_rerank_that_is_switched_off_is_refused_when_asked_for() -> None:
    limits = PlanLimits(ordering=Ordering(rerank=False))
    asked = SearchQuery("beam", mode="hybrid", ordering={"rerank": True})
    with pytest.raises(ModuleNotEnabledError):
        make_plan(asked, ANNA, limits)
    found = [words(hit("a", 9.0)), meaning(hit("b", 0.9))]
    off = make_plan(SearchQuery("beam", mode="hybrid"), ANNA, limits)
    assert not rank(found, Facts(), off).reranked
    shipped = RerankingSettings()
    assert shipped.enabled
    assert shipped.model == "cross-encoder/ms-marco-MiniLM-L-6-v2"
    assert rank(found, Facts(), HYBRID).reranked


@pytest.mark.requirement("C08")
def test_a_cut_is_of_what_is_shown_and_never_of_what_places_are_worth() -> None:
    plan = with_ordering(rerank=False, min_relevance_score=0.5)
    found = [
        words(hit("a", 30.0), hit("b", 20.0), hit("c", 1.0)),
        meaning(hit("a", 0.8), hit("b", 0.7), hit("c", 0.1)),
    ]
    order = rank(found, Facts(), plan)
    assert names(order)[0] == "a"
    # No place in two lists is worth more than 2/61: every hit would be cut.
    assert max(item.rrf for item in order.items) < 0.5
    assert order.items[0].relevance_score >= 0.5


@pytest.mark.parametrize("plan", [HYBRID, WORDS], ids=["linear", "words"])
def test_what_a_machine_wrote_counts_less_by_a_factor_that_is_named(plan) -> None:
    found = [words(hit("machine", 10.0, origin="machine"), hit("human", 9.0))]
    if plan is HYBRID:
        found.append(meaning(hit("machine", 0.6), hit("human", 0.6)))
    shipped = rank(found, Facts(), plan)
    assert names(shipped) == ["human", "machine"]
    assert shipped.items[1].factors == {"origin": 0.7}
    equal = rank(found, Facts(), with_ordering(plan, machine_factor=1.0))
    assert names(equal) == ["machine", "human"]
    assert equal.items[0].factors == {}


@pytest.mark.requirement("U26")
def test_machine_origin_is_a_factor_and_no_sort_key() -> None:
    found = [
        words(hit("machine", 10.0, origin="machine"), hit("human", 2.0)),
        meaning(hit("machine", 0.9), hit("human", 0.3)),
    ]
    assert names(rank(found, Facts(), HYBRID)) == ["machine", "human"]


def test_a_kind_that_weighs_more_comes_first() -> None:
    found = [meaning(hit("a", 0.6), hit("b", 0.55, kind="procedure"))]
    assert names(rank(found, Facts(), MEANING)) == ["a", "b"]
    weighed = with_ordering(MEANING, domain_weights={"procedure": 1.2})
    order = rank(found, Facts(), weighed)
    assert names(order) == ["b", "a"]
    assert order.items[0].factors == {"domain_weight": 1.2}


@pytest.mark.requirement("S4-21")
def test_a_hit_that_names_what_the_question_names_comes_first() -> None:
    found = [meaning(hit("like", 0.6), hit("next", 0.57), hit("named", 0.53))]
    known = Facts(near={"named": {NAMED}, "next": {BESIDE}})
    assert names(rank(found, Facts(), MEANING)) == ["like", "next", "named"]
    order = rank(found, known, MEANING)
    assert names(order) == ["named", "next", "like"]
    told = [item.factors for item in order.items]
    assert told == [{"entity_proximity": 1.2}, {"entity_proximity": 1.1}, {}]
    off = with_ordering(MEANING, entity_factor=1.0)
    assert names(rank(found, known, off)) == ["like", "next", "named"]


@pytest.mark.requirement("S4-22", "S4-11")
def test_what_was_asked_for_or_done_before_counts_a_little_and_hides_nothing() -> None:
    found = [meaning(hit("like", 0.6), hit("done", 0.57), hit("here", 0.56))]
    known = Facts(near={"done": {CARRIED}}, kin={"here": Kin(logbooks=("rf", "ops"))})
    assert names(rank(found, known, MEANING)) == ["done", "like", "here"]
    around = with_ordering(MEANING, places={"logbooks": ["rf"], "kinds": ["incident"]})
    order = rank(found, known, around)
    assert names(order) == ["done", "here", "like"]
    told = [item.factors for item in order.items]
    assert told == [{"session": 1.1}, {"session": 1.1}, {}]
    off = with_ordering(around, session_factor=1.0)
    assert names(rank(found, known, off)) == ["like", "done", "here"]


def test_a_scope_of_devices_is_what_names_one_of_them_and_fits_the_rest_of_it() -> None:
    found = [meaning(hit("a", 0.6), hit("b", 0.57), hit("c", 0.56))]
    known = Facts(near={"b": {SCOPED}, "c": {SCOPED}}, kin={"c": Kin(logbooks=("rf",))})
    devices = with_ordering(MEANING, scope={"devices": ["HCM03"]})
    assert names(rank(found, known, devices)) == ["b", "c", "a"]
    both = with_ordering(MEANING, scope={"devices": ["HCM03"], "logbooks": ["rf"]})
    order = rank(found, known, both)
    assert names(order) == ["c", "a", "b"]
    assert [item.factors for item in order.items] == [{"scope": 1.2}, {}, {}]


@pytest.mark.requirement("S4-25")
def test_an_entry_counts_less_by_the_half_lives_of_its_kind_if_there_are_any() -> None:
    # They were written on the first of January.
    found = [meaning(hit("note", 0.6), hit("incident", 0.58, kind="incident"))]
    assert names(rank(found, Facts(), MEANING)) == ["note", "incident"]
    ages = {"note": 30.0}
    for day, factor in (
        ("2025-12-01", None),
        ("2026-01-01", None),
        ("2026-01-31", 0.75),
        ("2026-03-02", 0.625),
    ):
        aged = with_ordering(MEANING, half_lives=ages, day=day)
        told = {one.entry_id: one.factors for one in rank(found, Facts(), aged).items}
        own = {} if factor is None else {"freshness": pytest.approx(factor)}
        assert told == {"note": own, "incident": {}}
        assert ([*told] == ["note", "incident"]) is (factor is None)
    # Never more than by half.
    old = with_ordering(MEANING, half_lives=ages, day="2126-01-01")
    (note,) = [one for one in rank(found, Facts(), old).items if one.entry_id == "note"]
    assert note.factors == {"freshness": pytest.approx(0.5)}


@pytest.mark.requirement("S4-23")
def test_a_hit_linked_to_a_strong_one_is_pulled_up() -> None:
    found = [
        words(hit("top", 10.0)),
        meaning(hit("top", 0.9), hit("alone", 0.52), hit("reply", 0.5)),
    ]
    kin = {one: Kin(thread_id="t") for one in ("top", "reply")}
    assert names(rank(found, Facts(), HYBRID)) == ["top", "alone", "reply"]
    pulled = rank(found, Facts(kin=kin), HYBRID)
    assert names(pulled) == ["top", "reply", "alone"]
    assert pulled.items[1].factors == {"graph_gravity": 1.2}
    off = rank(found, Facts(kin=kin), with_ordering(gravity_factor=1.0))
    assert names(off) == ["top", "alone", "reply"]


@pytest.mark.requirement("S4-26")
def test_the_page_that_asks_bends_the_order_and_hides_nothing() -> None:
    found = [meaning(hit("out", 0.6), hit("in", 0.55), hit("half", 0.52))]
    kin = {"in": Kin(logbooks=("ops",)), "half": Kin(logbooks=("ops",))}
    known = Facts(kin=kin)
    found[0] = replace(
        found[0], hits=(*found[0].hits[:2], replace(found[0].hits[2], kind="alarm"))
    )
    assert names(rank(found, known, MEANING)) == ["out", "in", "half"]
    scope = {"logbooks": ["ops"], "kinds": ["note"]}
    order = rank(found, known, with_ordering(MEANING, scope=scope))
    assert names(order) == ["in", "out", "half"]
    assert [item.factors for item in order.items] == [{"scope": 1.2}, {}, {}]


@pytest.mark.requirement("C42")
@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0.5, 1.5)))
def test_all_factors_together_stay_within_a_half_and_two(given_factors) -> None:
    total = factors.product(given_factors)
    assert 0.5 <= total <= 2.0
    turned = dict(reversed(given_factors.items()))
    assert factors.product(turned) == total


@pytest.mark.requirement("S1-35", "C09")
def test_a_score_without_bound_is_shown_below_one_and_in_its_order() -> None:
    assert calibration.saturating(10.0, 10.0) == 0.5
    raw = [0.0, 0.1, 1.0, 9.0, 11.0, 40.0, 1e9]
    shown = [calibration.saturating(score, 10.0) for score in raw]
    assert shown == sorted(set(shown))
    assert shown[-1] < 1
    measured = with_ordering(WORDS, saturation={"bm25": 10.0})
    found = words(hit("a", 40.0), hit("b", 10.0))
    order = rank([found], Facts(), measured)
    assert scores(order) == {"a": 0.8, "b": 0.5}
    assert order.items[0].calibration == "bm25_saturating"
    # More words are asked for, and more is scored by whoever has them.
    order = rank([replace(found, words=4)], Facts(), measured)
    assert scores(order) == {"a": 0.5, "b": 0.2}


@pytest.mark.requirement("S1-35")
def test_where_each_hit_has_all_words_the_best_is_good_however_common() -> None:
    found = words(hit("a", 0.2), hit("b", 0.1))
    measured = with_ordering(WORDS, saturation={"bm25": 0.5})
    assert scores(rank([found], Facts(), measured))["a"] < 0.3
    order = rank([replace(found, whole=True)], Facts(), measured)
    assert scores(order) == pytest.approx({"a": 0.75, "b": 0.7})
    # What is rare is worth more than that.
    assert scores(rank([replace(found, whole=True)], Facts(), WORDS))["a"] == 0.75
    rare = replace(words(hit("a", 9.5)), whole=True)
    assert scores(rank([rare], Facts(), measured)) == {"a": 0.95}


@pytest.mark.requirement("S1-43", "U18")
def test_a_hit_that_has_all_words_is_shown_however_much_better_others_are() -> None:
    found = words(
        hit("in its title", 9.0),
        hit("twice", 2.0),
        hit("by a machine", 2.1, origin="machine"),
        hit("once, in a long text", 0.3),
    )
    asked = with_ordering(
        WORDS, saturation={"bm25": 2.0}, min_relevance_score=0.5, strict=True
    )
    order = rank([replace(found, whole=True)], Facts(), asked)
    in_order = ["in its title", "twice", "by a machine", "once, in a long text"]
    assert names(order) == in_order
    assert scores(order)["in its title"] == pytest.approx(9 / 11)
    # Of words that not every hit has, those that score so low are left out.
    assert [*scores(rank([found], Facts(), asked))] == ["in its title", "twice"]


def test_an_entry_that_has_only_the_number_asked_for_is_ranked_without_words() -> None:
    found = replace(
        words(hit("OPS-12", 0.0)), whole=True, exact=True, meant=("OPS-12",)
    )
    assert names(rank([found], Facts(), WORDS)) == ["OPS-12"]


@pytest.mark.requirement("S1-35")
def test_until_it_is_measured_whatever_matches_scores_more_than_a_half() -> None:
    found = [words(hit("a", 0.13))]
    assert rank(found, Facts(), WORDS).items[0].relevance_score > 0.5


@pytest.mark.requirement("U18")
@pytest.mark.parametrize("plan", [WORDS, HYBRID], ids=["words", "hybrid"])
def test_what_was_named_exactly_is_never_below_the_floor(plan: Plan) -> None:
    named = replace(words(hit("a", 9.0), hit("b", 0.01)), exact=True)
    found = [named, meaning(hit("c", 0.8), hit("d", 0.1))]
    asked = with_ordering(plan, min_relevance_score=0.9, saturation={"bm25": 10.0})
    order = rank(found[: len(plan.searching)], Facts(), asked)
    assert names(order) == ["a", "b"]
    assert {item.relevance_score for item in order.items} == {0.9}
    assert {item.confidence for item in order.items} == {"high"}


def test_what_one_branch_alone_has_found_is_worth_what_that_branch_says() -> None:
    unheard = replace(meaning(), status="empty", vector=None)
    found = [words(hit("a", 30.0), hit("b", 10.0)), unheard]
    asked = with_ordering(HYBRID, saturation={"bm25": 10.0})
    order = rank(found, Facts(), asked)
    assert scores(order) == {"a": 0.75, "b": 0.5}
    assert order.items[0].calibration == "bm25_saturating"


def test_where_no_hit_of_the_words_has_a_vector_those_of_others_stand_for_it() -> None:
    found = [words(hit("a", 3.0)), meaning(hit("b", 0.6), hit("c", 0.4))]
    order = rank(found, Facts(), HYBRID)
    assert names(order) == ["a", "b", "c"]
    assert scores(order)["a"] == pytest.approx(0.7 * 0.5 + 0.3)


def test_a_match_that_the_model_has_not_read_is_not_hidden_by_what_is_hardly_near():
    """`Kühlwasser` stands in one German entry; the model knows English alone."""
    nearest = replace(meaning(hit("b", 0.49)), model=BGE)
    order = rank([words(hit("a", 1.6)), nearest], Facts(), HYBRID)
    assert names(order) == ["a", "b"]
    assert scores(order)["a"] > 0.5 > scores(order)["b"]


def test_fused_scores_end_at_the_best_branchs_own() -> None:
    assert calibration.minmax([0.01, 0.03, 0.02], 0.8) == pytest.approx([0, 0.8, 0.4])
    assert calibration.minmax([0.01], 0.8) == [0.8]
    assert calibration.minmax([0.02, 0.02], 0.8) == [0.8, 0.8]


def test_a_models_cosines_are_read_by_where_what_is_relevant_lies() -> None:
    points = calibration.COSINE_MAPS["all-MiniLM-L6-v2-int8"]
    told = [calibration.between(cosine, points) for cosine, _ in points]
    assert told == [0.25, 0.5, 0.8]
    steps = [calibration.between(n / 100, points) for n in range(-20, 121)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0.0, 1.0)
    found = replace(meaning(hit("a", 0.5)), model="all-MiniLM-L6-v2-int8")
    (item,) = rank([found], Facts(), MEANING).items
    assert 0.5 < item.relevance_score < 0.8
    assert (item.confidence, item.scores["cosine"]) == ("medium", 0.5)
    # A model that was not fitted: its cosine as it is.
    assert scores(rank([meaning(hit("a", 0.4))], Facts(), MEANING)) == {"a": 0.4}


@pytest.mark.requirement("S1-49")
def test_what_scores_exactly_enough_is_kept_and_what_is_cut_is_counted() -> None:
    found = [meaning(hit("a", 0.7), hit("b", 0.6), hit("c", 0.5))]
    order = rank(found, Facts(), with_ordering(MEANING, min_relevance_score=0.6))
    assert names(order) == ["a", "b"]
    left = order.suppressed
    assert (left.count, left.best_score, left.threshold) == (1, 0.5, 0.6)
    assert rank(found, Facts(), MEANING).suppressed.count == 0


@pytest.mark.requirement("U18")
def test_strict_leaves_out_the_doubtful_and_never_what_was_named_exactly() -> None:
    found = [words(hit("a", 3.0), hit("b", 1.0)), meaning(hit("c", 0.1))]
    strict = with_ordering(strict=True)
    assert names(rank(found, Facts(), strict)) == []
    assert rank(found, Facts(), strict).suppressed.count == 3
    found[0] = replace(found[0], exact=True)
    order = rank(found, Facts(), strict)
    assert names(order) == ["a", "b"]
    assert {item.confidence for item in order.items} == {"high"}


@pytest.mark.parametrize(
    ("score", "told"),
    [(0.8, "high"), (0.79, "medium"), (0.5, "medium"), (0.25, "low"), (0.24, "none")],
)
def test_confidence_is_read_from_the_shown_score(score: float, told: str) -> None:
    order = rank([meaning(hit("a", score))], Facts(), MEANING)
    assert order.items[0].confidence == told


@pytest.mark.requirement("S1-49")
def test_a_listing_is_by_time_alone() -> None:
    plan = make_plan(SearchQuery("-beam"), ANNA, PlanLimits())
    listed = Outcome(
        "newest",
        "ok",
        "entry_time",
        hits=(hit("new", 2e9, origin="machine"), hit("old", 1e9)),
    )
    strict = with_ordering(plan, strict=True, min_relevance_score=1.0)
    order = rank([listed], Facts(), strict)
    assert names(order) == ["new", "old"]
    assert {item.calibration for item in order.items} == {"none"}
    # Each is all that was asked for; `confidence` claims nothing.
    assert scores(order) == {"new": 1.0, "old": 1.0}
    assert (order.suppressed.count, order.suppressed.threshold) == (0, 1.0)


# What each entry has: its score by words, its cosine, and who wrote it.
found_entries = st.dictionaries(
    st.sampled_from([f"e{n:02d}" for n in range(24)]),
    st.tuples(
        st.none() | st.floats(0.125, 40, width=16),
        st.none() | st.floats(0, 1, width=16),
        st.booleans(),
        st.sampled_from(["human", "machine"]),
    ),
    max_size=24,
)
Entries = dict[str, tuple[float | None, float | None, bool, str]]


def order_of(entries: Entries, seed: int = 0) -> RankedHits:
    """Rank entries; `near` ones were found by meaning, of others it is a fact."""
    by_words = [hit(e, w, origin=o) for e, (w, _, _, o) in entries.items() if w]
    near = [
        hit(e, c, origin=o)
        for e, (_, c, is_near, o) in entries.items()
        if is_near and c is not None
    ]
    known = {e: c for e, (w, c, _, _) in entries.items() if w and c is not None}
    turns = random.Random(seed)
    for hits in (by_words, near):
        turns.shuffle(hits)
    found = [words(*by_words), meaning(*near)]
    turns.shuffle(found)
    return rank(found, Facts(cosines=known), HYBRID)


@given(found_entries, st.integers(0, 1000))
def test_the_order_and_its_hash_do_not_depend_on_who_arrived_first(entries, seed):
    one, two = order_of(entries), order_of(entries, seed)
    assert one == two
    assert stability_hash(one.items) == stability_hash(two.items)
    if len(one.items) > 1:
        assert stability_hash(one.items[::-1]) != stability_hash(one.items)


@given(found_entries, st.floats(0, 1))
def test_a_larger_cosine_never_lowers_an_entry(entries: Entries, gain: float) -> None:
    for entry, (by_words, cosine, near, origin) in list(entries.items())[:3]:
        if not near or cosine is None:
            continue
        nearer = min(1.0, cosine + gain)
        before = names(order_of(entries))
        after = names(order_of({**entries, entry: (by_words, nearer, near, origin)}))
        # Its cosine may be the one that entries without a vector take: only those
        # with a vector of their own are compared.
        with_own = {e for e, (_, c, _, _) in entries.items() if c is not None}
        assert place(after, entry, with_own) <= place(before, entry, with_own)


def place(order: list[str], entry: str, among: set[str]) -> int:
    return [one for one in order if one in among].index(entry)


def shown(entry: str, score: float, source: str = "api", **parts: str) -> Ranked:
    return Ranked(
        entry_id=entry,
        chunk_id=entry,
        kind="note",
        revision=1,
        relevance_score=score,
        rrf=0.0,
        ranks={},
        contrib={},
        scores={},
        span=None,
        source=source,
        **parts,  # type: ignore[arg-type]
    )


def heads(items: list[Ranked], window: int = 10, limit: int = 10) -> list[str]:
    kept = fold.arranged(items, window, limit, 0.8)
    return [run[0].entry_id for run in fold.group_runs(kept)]


def test_copies_stand_behind_the_best_of_their_like() -> None:
    items = [
        shown("first", 0.9, group_id="g"),
        shown("other", 0.8),
        shown("copy", 0.7, group_id="g"),
        shown("pulse", 0.6, series_id="s", group_id="g"),
        shown("pulse again", 0.5, series_id="s"),
    ]
    assert heads(items) == ["first", "other", "pulse"]
    behind = [len(run) for run in fold.group_runs(fold.arranged(items, 10, 10, 0.8))]
    assert behind == [2, 1, 2]


def test_a_series_leaves_room_in_the_window_and_a_few_to_stand_in() -> None:
    series = [shown(f"p{n:02d}", 0.9 - n / 100, series_id="s") for n in range(40)]
    others = [shown(f"h{n}", 0.1 - n / 100) for n in range(5)]
    kept = fold.arranged([*series, *others], 3, 10, 0.8)
    assert len(fold.group_runs(kept)[0]) == fold.SPARE_COPIES
    assert heads([*series, *others], window=3) == ["p00", "h0", "h1"]


def test_one_source_has_its_share_only_while_another_has_hits() -> None:
    many = [shown(f"a{n}", 0.9 - n / 100) for n in range(20)]
    assert heads(many) == [f"a{n}" for n in range(10)]
    few = [shown(f"b{n}", 0.2 - n / 100, source="other") for n in range(3)]
    both = heads([*many, *few], window=50)
    assert both[:10] == [*(f"a{n}" for n in range(8)), "b0", "b1"]
    # What was left out is not lost, and a page that would stay short is filled.
    assert both[10:20] == [*(f"a{n}" for n in range(8, 17)), "b2"]
    assert both[20:] == ["a17", "a18", "a19"]


def test_every_raw_score_keeps_its_name() -> None:
    order = rank([words(hit("a", 4.0)), meaning(hit("a", 0.5))], Facts(), HYBRID)
    (item,) = order.items
    assert item.scores == {"bm25": 4.0, "cosine": 0.5}
    assert isclose(item.rrf, 2 / 61)
    assert item.found_by == ["os_bm25", "semantic"]


def test_of_two_that_factors_lift_beyond_one_the_better_still_comes_first() -> None:
    kin = {name: Kin(thread_id="t") for name in ("a", "b")}
    found = [
        words(hit("a", 17.0), hit("b", 20.0)),
        meaning(hit("a", 0.83), hit("b", 0.85)),
    ]
    order = rank(found, Facts(kin=kin), HYBRID)
    assert names(order) == ["b", "a"]
    assert scores(order) == {"a": 1.0, "b": 1.0}
    alone = rank([words(hit("a", 60.0), hit("b", 90.0))], Facts(kin=kin), WORDS)
    assert names(alone) == ["b", "a"]


def test_a_search_of_one_branch_says_that_facts_came_too_late() -> None:
    (note,) = rank([words(hit("a", 2.0))], UNREAD, WORDS).notes
    assert note.code == "facts_skipped"
    assert rank([words(hit("a", 2.0))], Facts(), WORDS).notes == ()


def test_what_another_packages_module_scored_counts_like_words() -> None:
    outside = Outcome("pinned", "ok", "pins", hits=(hit("a", 0.5), hit("b", 0.25)))
    plan = make_plan(
        SearchQuery("beam", mode="hybrid"),
        ANNA,
        PlanLimits(outside=frozenset({"pinned"})),
    )
    found = [words(hit("words", 8.0)), meaning(hit("a", 0.4)), outside]
    order = rank(found, Facts(cosines={"b": 0.4, "words": 0.4}), plan)
    assert scores(order) == {"a": 0.58, "words": 0.58, "b": 0.43}


def test_what_it_found_alone_shows_its_own_score_within_bounds() -> None:
    plan = make_plan(
        SearchQuery("beam", mode="pinned"),
        ANNA,
        PlanLimits(outside=frozenset({"pinned"})),
    )
    outside = Outcome("pinned", "ok", "pins", hits=(hit("a", 7.0), hit("b", 0.55)))
    order = rank([outside], Facts(), plan)
    assert scores(order) == {"a": 1.0, "b": 0.55}
    assert [one.confidence for one in order.items] == ["high", "medium"]
    assert {one.calibration for one in order.items} == {"none"}


def test_of_a_thread_its_best_entry_is_shown_and_the_rest_behind_it() -> None:
    found = [words(hit("a", 9.0), hit("b", 8.0), hit("c", 7.0), hit("d", 6.0))]
    kin = {name: Kin(thread_id="t") for name in "ac"}
    kin["b"] = Kin(group_id="g")
    apart = rank(found, Facts(kin=kin), WORDS)
    assert [len(run) for run in fold.group_runs(apart.items)] == [1, 1, 1, 1]
    order = rank(
        found, Facts(kin=kin), replace(WORDS, detail=PlanDetail(by_thread=True))
    )
    shown = [[one.entry_id for one in run] for run in fold.group_runs(order.items)]
    assert shown == [["a", "c"], ["b"], ["d"]]


def test_a_list_by_time_is_collapsed_by_thread_and_by_nothing_else() -> None:
    listing = make_plan(SearchQuery("", filters={"source": "api"}), ANNA, PlanLimits())
    listing = replace(listing, detail=PlanDetail(by_thread=True))
    hits = hit("a", 9.0), hit("b", 8.0), hit("c", 7.0), hit("d", 6.0)
    listed = Outcome("newest", "ok", "entry_time", hits=hits)
    kin = {name: Kin(group_id="g") for name in "ab"} | {"d": Kin(thread_id="t")}
    kin["c"] = Kin(thread_id="t")
    order = rank([listed], Facts(kin=kin), listing)
    shown = [[one.entry_id for one in run] for run in fold.group_runs(order.items)]
    assert shown == [["a"], ["b"], ["c", "d"]]


BY_MODEL = replace(HYBRID, ordering=replace(HYBRID.ordering, by_model=True))


@pytest.mark.requirement("S1-25")
@pytest.mark.parametrize(
    ("logit", "shown"), [(-11.0, 0.0000167), (0.0, 0.5), (11.0, 0.9999833)]
)
def test_what_a_model_says_is_shown_as_a_sigmoid(logit: float, shown: float) -> None:
    plan = with_ordering(BY_MODEL, min_relevance_score=0.0)
    found = [words(hit("a", 9.0)), meaning(hit("a", 0.9))]
    (item,) = rank(found, Facts(logits={"a": logit}), plan).items
    assert isclose(item.relevance_score, shown, abs_tol=1e-7)
    assert item.scores["rerank_logit"] == logit
    assert item.calibration == "rerank_sigmoid"
    cooler = with_ordering(plan, temperature=2.0)
    (item,) = rank(found, Facts(logits={"a": logit}), cooler).items
    assert isclose(item.relevance_score, calibration.sigmoid(logit / 2, 1.0))


@pytest.mark.requirement("S1-11", "S1-26")
def test_what_a_model_read_comes_first_and_the_rest_in_its_order_below() -> None:
    found = [
        words(hit("a", 9.0), hit("b", 8.0), hit("c", 7.0)),
        meaning(hit("a", 0.9), hit("b", 0.8), hit("c", 0.7), hit("d", 0.6)),
    ]
    plan = with_ordering(BY_MODEL, min_relevance_score=0.0)
    order = rank(found, Facts(logits={"a": -1.0, "b": 1.0}), plan)
    assert order.reranked
    assert names(order) == ["b", "a", "c", "d"]
    shown = [item.relevance_score for item in order.items]
    assert shown == sorted(shown, reverse=True)
    assert isclose(shown[1], calibration.sigmoid(-1.0, 1.0))
    assert shown[2] == shown[1]
    named = [item.calibration for item in order.items]
    assert named == ["rerank_sigmoid"] * 2 + ["linear_map"] * 2


def test_factors_hold_for_what_a_model_said() -> None:
    found = [
        words(hit("machine", 9.0, origin="machine"), hit("human", 8.0)),
        meaning(hit("machine", 0.9), hit("human", 0.8)),
    ]
    order = rank(found, Facts(logits={"machine": 0.4, "human": 0.3}), BY_MODEL)
    assert names(order) == ["human"]
    assert order.suppressed.count == 1
    assert order.suppressed.threshold == 0.5


@pytest.mark.requirement("S1-43")
def test_only_where_a_model_ran_a_hit_must_score_a_half_unless_said_otherwise() -> None:
    found = [words(hit("a", 9.0), hit("b", 8.0)), meaning(hit("a", 0.9), hit("b", 0.1))]
    judged = Facts(logits={"a": 0.0, "b": -0.1})
    assert names(rank(found, judged, BY_MODEL)) == ["a"]
    assert len(rank(found, Facts(), BY_MODEL).items) == 2
    none = with_ordering(BY_MODEL, min_relevance_score=0.0)
    assert len(rank(found, judged, none).items) == 2


def test_a_model_that_did_not_read_is_told_and_the_order_of_before_stands() -> None:
    found = [words(hit("a", 9.0)), meaning(hit("b", 0.9))]
    order = rank(found, Facts(unread_because="it was late"), BY_MODEL)
    assert names(order) == names(rank(found, Facts(), HYBRID))
    (note,) = order.notes
    assert (note.code, "it was late" in note.message) == ("rerank_skipped", True)


def test_a_model_is_asked_where_there_is_one_and_several_branches_or_a_wish() -> None:
    def by_model(
        mode: str, *, installed: bool = True, anyhow: bool = False, **asked: object
    ) -> bool:
        limits = PlanLimits(ordering=Ordering(by_model=installed))
        question = SearchQuery("beam", mode=mode, ordering=asked, read_by_model=anyhow)
        return make_plan(question, ANNA, limits).ordering.by_model

    assert by_model("hybrid")
    assert not by_model("keyword")
    assert by_model("keyword", anyhow=True)
    assert not by_model("semantic", anyhow=True, installed=False)
    assert by_model("keyword", rerank=True, by_model=True)
    assert not by_model("hybrid", rerank=True, by_model=False)
    assert not by_model("hybrid", rerank=False)
    assert not by_model("hybrid", installed=False)
    with pytest.raises(ModuleNotEnabledError, match="No such model"):
        by_model("hybrid", installed=False, rerank=True, by_model=True)
