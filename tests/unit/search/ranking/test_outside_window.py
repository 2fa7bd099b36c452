"""What was found and is in no window says itself why; pure."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.search.jobs.outcome import Outcome
from shared.search.ranking import fold
from shared.search.ranking.candidate_facts import Facts, Kin
from shared.search.ranking.rank import rank
from tests.unit.search.ranking.test_ranking import (
    HYBRID,
    MEANING,
    WORDS,
    hit,
    meaning,
    with_ordering,
    words,
)


def found(*scores: float, source: str = "api") -> Outcome:
    hits = [hit(f"e{n:02d}", one, source=source) for n, one in enumerate(scores)]
    return meaning(*hits)


def test_what_stands_behind_the_window_keeps_its_place() -> None:
    narrow = replace(MEANING, window=3)
    order = rank([found(0.9, 0.8, 0.7, 0.6, 0.5)], Facts(), narrow)
    assert [(one.entry_id, one.place) for one in order.beyond] == [
        ("e03", 4),
        ("e04", 5),
    ]
    assert [one.relevance_score for one in order.beyond] == [0.6, 0.5]


def test_a_place_behind_the_window_counts_the_share_of_each_source() -> None:
    """As pages are made: not as scores stand."""
    ours = [hit(f"o{n}", 0.9 - n / 100, source="ours") for n in range(6)]
    theirs = [hit(f"t{n}", 0.5 - n / 100, source="theirs") for n in range(2)]
    plan = replace(with_ordering(MEANING, source_share=0.5), limit=2, window=4)
    order = rank([meaning(*ours, *theirs)], Facts(), plan)
    assert [item.entry_id for item in order.items] == ["o0", "t0", "o1", "t1"]
    assert [(one.entry_id, one.place) for one in order.beyond] == [
        ("o2", 5),
        ("o3", 6),
        ("o4", 7),
        ("o5", 8),
    ]


def test_what_scored_too_low_keeps_its_score_and_its_place_among_all() -> None:
    order = rank([found(0.9, 0.3)], Facts(), with_ordering(MEANING, strict=True))
    (one,) = order.beyond
    assert (one.relevance_score, one.confidence, one.place) == (0.3, "low", 2)


def test_more_copies_than_stand_in_the_window_have_no_place() -> None:
    count = fold.SPARE_COPIES + 2
    scores = [0.9 - n / 100 for n in range(count)]
    kin = {f"e{n:02d}": Kin(group_id="g") for n in range(count)}
    order = rank([found(*scores)], Facts(kin=kin), MEANING)
    assert [(one.entry_id, one.place) for one in order.beyond] == [
        ("e10", None),
        ("e11", None),
    ]


def test_what_a_model_has_not_read_is_told_apart() -> None:
    facts = Facts(logits={"a": 2.0, "b": -9.0})
    plan = with_ordering(by_model=True)
    order = rank([words(hit("a", 9.0), hit("b", 8.0), hit("c", 1.0))], facts, plan)
    # The model's cut holds for what it has not read, too.
    told = {one.entry_id: (one.unread, one.place) for one in order.beyond}
    assert told == {"b": (False, 2), "c": (True, 3)}


@given(
    st.lists(st.floats(0, 40), min_size=1, max_size=60),
    st.integers(1, 20),
    st.integers(1, 10),
    st.sampled_from([None, 0.3]),
)
def test_all_that_is_found_is_in_the_window_or_beyond_it(scores, window, limit, least):
    hits = [hit(f"e{n}", one, source=f"s{n % 3}") for n, one in enumerate(scores)]
    plan = replace(with_ordering(WORDS, min_relevance_score=least), window=window)
    order = rank([words(*hits)], Facts(), replace(plan, limit=limit))
    names = [item.entry_id for item in order.items]
    names += [one.entry_id for one in order.beyond]
    assert sorted(names) == sorted(one.entry_id for one in hits)
    assert len(fold.group_runs(order.items)) <= window


def test_a_list_of_two_branches_has_each_entry_once() -> None:
    both = [words(hit("a", 9.0), hit("b", 8.0)), meaning(hit("b", 0.9), hit("c", 0.5))]
    order = rank(both, Facts(), replace(HYBRID, window=1))
    assert sorted(one.place or 0 for one in order.beyond) == [2, 3]
