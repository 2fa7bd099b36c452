"""What fusion never does, whatever the branches found: hypothesis looks for it."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.search.jobs.outcome import Outcome
from shared.search.query.ordering import Ordering
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking import calibration, fusion
from shared.search.ranking.candidate_facts import Facts, Kin
from shared.search.ranking.rank import rank
from shared.search.response.respond import stability_hash
from shared.search.results.conclude import conclude
from tests.unit.search.ranking.test_ranking import hit

LIMITS = PlanLimits(outside=frozenset({"pinned"}))
# Three lists: by words, by meaning, and of another package.
PLAN = make_plan(SearchQuery("beam", mode="hybrid"), Scope("default", "anna"), LIMITS)
UNITS = {"os_bm25": "bm25", "semantic": "cosine", "pinned": "pins"}
ENTRIES = [f"e{n}" for n in range(12)]

# By entry: its score in each list that names it, and who wrote it.
found = st.dictionaries(
    st.sampled_from(ENTRIES),
    st.tuples(
        st.none() | st.floats(0.125, 40, width=16),
        st.none() | st.floats(0.125, 1, width=16),
        st.none() | st.floats(0.125, 1, width=16),
        st.sampled_from(["human", "machine"]),
    ),
    min_size=1,
    max_size=12,
)
Found = dict[str, tuple[float | None, float | None, float | None, str]]


def branches(entries: Found) -> list[Outcome]:
    lists = []
    for place, (name, unit) in enumerate(UNITS.items()):
        hits = [
            hit(entry, score, origin=known[3])
            for entry, known in entries.items()
            if (score := known[:3][place]) is not None
        ]
        one = Outcome(name, "ok" if hits else "empty", unit, hits=tuple(hits))
        # With a vector of the question, hits are reranked.
        is_near = unit == "cosine"
        lists.append(replace(one, model="m", vector="AAAA") if is_near else one)
    return lists


def plan(**ordering: object) -> Plan:
    return replace(PLAN, ordering=replace(PLAN.ordering, **ordering))  # type: ignore[arg-type]


def worth(entries: Found, asked: Plan) -> dict[str, float]:
    searched = branches(entries)
    weights = fusion.weights(searched, asked.ordering)
    fused = fusion.fuse(searched, asked.rrf_k, weights)
    return {one.shown.entry_id: one.rrf for one in fused}


FUSED = pytest.mark.parametrize(
    "asked",
    [plan(rerank=False), plan(rerank=False, weigh_by_best=True)],
    ids=["plain", "weighed_by_best"],
)
ANY = pytest.mark.parametrize(
    "asked",
    [PLAN, plan(rerank=False), plan(rerank=False, weigh_by_best=True)],
    ids=["shipped", "fused", "weighed_by_best"],
)


@ANY
@given(entries=found)
def test_in_which_order_branches_arrive_changes_no_score_and_no_place(asked, entries):
    told = branches(entries)
    kin = {entry: Kin(thread_id=f"t{n % 3}") for n, entry in enumerate(ENTRIES)}
    orders = []
    for arrival in itertools.permutations(range(len(told))):
        # As they are kept when they come: the numbers of the plan, in any order.
        arrived = {number: [told[number]] for number in arrival}
        orders.append(conclude(asked, arrived, Facts(kin=kin)).order)
        # And as whoever ranks might hold them.
        orders.append(rank([told[n] for n in arrival], Facts(kin=kin), asked))
    assert all(one == orders[0] for one in orders)
    hashes = {stability_hash(one.items) for one in orders}
    assert len(hashes) == 1


@pytest.mark.requirement("U07")
@FUSED
@given(entries=found, of=st.integers(0, 2), gain=st.floats(0, 1, width=16))
def test_a_better_place_in_a_branch_never_scores_worse(asked, entries, of, gain):
    """Neither the entry's own worth, nor its place among all."""
    entry, known = next(iter(entries.items()))
    score = known[:3][of]
    most = 40.0 if of == 0 else 1.0
    # Found for the first time, or with a better score than before.
    better = most * gain if score is None else score + (most - score) * gain
    values = [*known]
    values[of] = max(better, 0.125)
    after: Found = {**entries, entry: tuple(values)}

    before_worth, after_worth = worth(entries, asked), worth(after, asked)
    assert after_worth[entry] >= before_worth.get(entry, 0.0)
    before = [item.entry_id for item in rank(branches(entries), Facts(), asked).items]
    now = [item.entry_id for item in rank(branches(after), Facts(), asked).items]
    if entry in before and known[3] == "human":
        ahead = set(now[: now.index(entry)])
        assert ahead <= set(before[: before.index(entry)])


@pytest.mark.requirement("U07")
@given(
    st.lists(st.floats(0.125, 40, width=16), min_size=1, max_size=5),
    st.lists(st.floats(0.125, 1, width=16), min_size=1, max_size=5),
)
def test_a_weak_branch_can_weigh_as_little_as_its_best_hit(by_words, near) -> None:
    lists = [
        Outcome("os_bm25", "ok", "bm25", hits=tuple(map(hit, "abcde", by_words))),
        Outcome("semantic", "ok", "cosine", hits=tuple(map(hit, "vwxyz", near))),
    ]
    best = {
        "os_bm25": calibration.of_branch(max(by_words), "bm25"),
        "semantic": max(near),
    }
    plain = fusion.weights(lists, Ordering())
    assert plain == {"os_bm25": 1.0, "semantic": 1.0}
    weighed = fusion.weights(lists, Ordering(weigh_by_best=True))
    assert weighed == pytest.approx(best)
    half = Ordering(weigh_by_best=True, branch_weights={"semantic": 0.5})
    assert fusion.weights(lists, half)["semantic"] == pytest.approx(max(near) / 2)
    firsts = sorted(
        (one for one in fusion.fuse(lists, 60, weighed) if 1 in one.ranks.values()),
        key=lambda one: -one.rrf,
    )
    stronger = max(best, key=lambda name: best[name])
    if best["os_bm25"] != best["semantic"]:
        assert [*firsts[0].ranks] == [stronger]


def test_one_list_alone_is_not_weighed() -> None:
    alone = [Outcome("os_bm25", "ok", "bm25", hits=(hit("a", 1.0),))]
    assert fusion.weights(alone, Ordering(weigh_by_best=True)) == {"os_bm25": 1.0}
