"""A question taken apart by rules: every example of the reference, and its traps."""

import statistics
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.search.query.decomposition.decompose import MAX_SUBQUERIES, decompose
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.times.calendar import Clock
from tests.unit.search.query.test_plan import SCOPE

# A question, the rule, and what is searched beside the whole.
GOLDEN: list[tuple[str, str | None, list[str]]] = [
    (
        "What is trend continuation and how does position sizing work?",
        "multi_question",
        ["What is trend continuation", "How does position sizing work"],
    ),
    (
        "why did the klystron trip? what closed the valve?",
        "multi_question",
        ["Why did the klystron trip", "What closed the valve"],
    ),
    (
        "find trend continuation patterns and then position sizing rules",
        "sequential",
        ["find trend continuation patterns", "position sizing rules"],
    ),
    (
        "check vacuum pumps also RF windows",
        "sequential",
        ["check vacuum pumps", "RF windows"],
    ),
    ("GraphRAG vs VectorRAG", "comparison", ["GraphRAG", "VectorRAG"]),
    ("protocol 137 vs. protocol 49", "comparison", ["protocol 137", "protocol 49"]),
    ("booster versus ring", "comparison", ["booster", "ring"]),
    (
        "booster trips compared to ring trips",
        "comparison",
        ["booster trips", "ring trips"],
    ),
    ("booster compare to ring", "comparison", ["booster", "ring"]),
    ("compare the gun with the linac", "comparison", ["gun", "the linac"]),
    (
        "risk management and trading psychology",
        "list",
        ["risk management", "trading psychology"],
    ),
    (
        "trading risk management and psychology",
        "list",
        ["trading risk management", "psychology"],
    ),
    ("risk management and psychology", "list", ["risk management", "psychology"]),
    ("vacuum leak or water leak", "list", ["vacuum leak", "water leak"]),
    ("HCM03 and BPM02", "list", ["HCM03", "BPM02"]),
    (
        "vacuum leak, beam loss, magnet trip, pump fault",
        "list",
        ["vacuum leak", "beam loss", "magnet trip"],
    ),
    (
        "vacuum leak, beam loss, and magnet trip",
        "list",
        ["vacuum leak", "beam loss", "magnet trip"],
    ),
    ("vacuum leak as well as RF trip", "list", ["vacuum leak", "RF trip"]),
    (
        "institutional order flow auction market theory",
        "clusters",
        ["institutional order flow", "auction market theory"],
    ),
    ("RF cavity 3A window", "clusters", ["RF cavity", "3A window"]),
    (
        "klystron gun valve pump magnet",
        "clusters",
        ["klystron gun", "valve pump magnet"],
    ),
    # What is one thing.
    ("case studies", None, []),
    ("search and rescue", None, []),
    ("klystron gun valve", None, []),
    ("what happened in sector 3 and 4", None, []),
    ("what happened and why", None, []),
    ("vacuum leak AND RF trip", None, []),
    ("vacuum leak OR RF trip", None, []),
    ('"search and rescue team" drill', None, []),
    ("has the cavity also been replaced", None, []),
    ("vs", None, []),
    ("and then or also vs and", None, []),
    ("", None, []),
    # Of what is said twice, one is searched.
    ("RF trip and rf trip and vacuum leak", "list", ["RF trip", "vacuum leak"]),
    # In quotes, what joins others joins nothing.
    (
        '"stop and go" mode and vacuum leak',
        "list",
        ['"stop and go" mode', "vacuum leak"],
    ),
    (
        "Warum fiel Kicker 2 aus und wie wurde das Ventil repariert?",
        "multi_question",
        ["Warum fiel Kicker 2 aus", "Wie wurde das Ventil repariert"],
    ),
]


@pytest.mark.requirement("S3-03", "S3-14", "S3-15", "S3-16", "S3-17", "S3-18", "S3-19")
@pytest.mark.requirement("S3-20", "S3-21", "S3-22", "S3-23", "S3-24", "S3-25", "S3-26")
@pytest.mark.requirement("S3-27", "S3-44", "S3-53", "S3-54", "S3-55", "S3-56")
@pytest.mark.requirement("C28", "C29", "C30", "C31")
@pytest.mark.parametrize(("question", "rule", "parts"), GOLDEN)
def test_a_question_is_taken_apart_by_the_first_rule_that_fits(question, rule, parts):
    found = decompose(question)
    assert (found.strategy, list(found.parts)) == (rule, parts)
    assert list(found.sub_queries) == [question, *parts]


words = st.lists(
    st.sampled_from(
        [
            *("and", "or", "then", "also", "vs", "why", "what", "?", ",", "AND", "NOT"),
            *(
                "RF",
                "trip",
                "vacuum",
                "HCM03",
                '"beam and valve"',
                "(a or b)",
                "compare",
            ),
        ]
    ),
    max_size=14,
)


@pytest.mark.requirement("S3-27", "S3-56", "C29", "C30")
@given(words.map(" ".join))
def test_the_whole_comes_first_and_what_belongs_together_stays_so(question) -> None:
    found = decompose(question)
    assert found.sub_queries[0] == question
    assert len(found.sub_queries) in {1, 3, MAX_SUBQUERIES}
    assert len({one.casefold() for one in found.parts}) == len(found.parts)
    for part in found.parts:
        assert part.count('"') % 2 == 0
        assert part.count("(") == part.count(")")
        assert part.strip(string.whitespace + "?,")
        assert not {"AND", "NOT"} & set(part.split())


@given(st.text(max_size=300))
def test_no_text_is_too_strange(question: str) -> None:
    assert decompose(question).sub_queries[0] == question


def _plan(question: str, mode: str = "agentic", **fields: object) -> Plan:
    clock = Clock(zone="Europe/Berlin")
    asked = SearchQuery(question, mode=mode, **fields)  # type: ignore[arg-type]
    plan = make_plan(asked, SCOPE, PlanLimits(), clock)
    assert Plan.from_json(plan.to_json()) == plan
    return plan


@pytest.mark.requirement("S3-28", "S3-31", "S3-59")
def test_each_sub_query_is_asked_of_the_modules_that_other_searches_ask() -> None:
    plan = _plan("vacuum leak and RF trip")
    each = ("os_bm25", "semantic", "procedure", "tag", "graph", "attachment_name")
    assert plan.sub_queries == ("vacuum leak and RF trip", "vacuum leak", "RF trip")
    assert plan.branches == each * 3
    assert [plan.of_branch(n).query for n in (0, 6, 12)] == list(plan.sub_queries)
    assert plan.of_part(1).branches == each
    assert (plan.ends_in_chord, plan.deadline_ms) == (True, 30_000)


@pytest.mark.requirement("S3-28", "C33")
def test_a_fan_out_beyond_the_cap_is_cut_and_said() -> None:
    asked = SearchQuery("vacuum leak, beam loss, magnet trip", mode="agentic")
    outside = frozenset({"logbook_of_others"})
    scope: Scope = SCOPE
    plan = make_plan(asked, scope, PlanLimits(outside=outside))
    assert len(plan.branches) == 24
    assert [note.code for note in plan.diagnostics] == ["fanout_cut"]
    # Of what is left out none is by words or by meaning.
    assert plan.branches.count("os_bm25") == plan.branches.count("semantic") == 4
    few = make_plan(asked, scope, PlanLimits(fanout_cap=5))
    assert few.branches == ("os_bm25", "semantic", "os_bm25", "os_bm25", "os_bm25")


def test_what_is_excluded_and_filtered_holds_for_each_part() -> None:
    plan = _plan("vacuum leak and RF trip -test device:HCM03")
    for number in range(3):
        asked = plan.of_part(number).tree
        assert "Not(part=Words(text='test'" in repr(asked)
    assert plan.filters.facts


@pytest.mark.requirement("S0-05")
@pytest.mark.parametrize("threshold", [None, 0.4])
def test_how_near_is_enough_is_the_request_s_or_the_setting_s(threshold) -> None:
    limits = PlanLimits(validation_threshold=0.3)
    asked = SearchQuery(
        "vacuum leak and RF trip", mode="agentic", validation_threshold=threshold
    )
    plan = make_plan(asked, SCOPE, limits)
    assert plan.fan_out.threshold == (0.3 if threshold is None else threshold)
    assert _plan("vacuum leak and RF trip", validate=False).fan_out.threshold is None


def test_auto_searches_each_part_by_itself_where_several_things_are_asked() -> None:
    assert _plan("vacuum leak vs RF trip", "auto").method == "agentic"
    assert _plan("institutional order flow auction market", "auto").method == "hybrid"
    assert _plan("what happened to the beam and the valve", "auto").method == "hybrid"
    # By time nothing is merged.
    assert _plan("vacuum leak vs RF trip", "auto", sort="newest").method == "keyword"


def test_taking_apart_takes_less_than_two_milliseconds() -> None:
    questions = [question for question, *_ in GOLDEN]
    took = []
    for question in questions * 5:
        began = time.perf_counter()
        decompose(question)
        took.append((time.perf_counter() - began) * 1000)
    assert statistics.median(took) < 2
