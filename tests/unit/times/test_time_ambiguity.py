"""Times among words that may mean something else, less or more: words stay words."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from shared.search.query.language import tree_text
from shared.search.query.plan import Plan
from shared.search.response.respond import nothing_asked
from shared.times.calendar import Clock
from shared.times.operating_periods import Period
from tests.support.linear_cost import assert_linear
from tests.unit.times.test_date_expressions import ZONE
from tests.unit.times.test_german_times import GERMAN
from tests.unit.times.test_time_phrases import (
    CLOCK,
    LAST_WEEK,
    OWL,
    YESTERDAY,
    plan_of,
    told,
)

TODAY = "2024-06-11 22:00 to 2024-06-12 22:00"
MORNING = "2024-06-12 04:00 to 2024-06-12 10:00"
TENTH = "2024-06-09 22:00 to 2024-06-11 22:00"
STOPS = replace(
    CLOCK,
    periods=(
        *CLOCK.periods,
        Period(
            name="Easter", kind="stop", begins=date(2024, 3, 4), ends=date(2024, 3, 6)
        ),
    ),
)
# What is not surely a time, or not that time, is searched as it stands.
WORDS = [
    # One side of a choice alone is less than was asked for.
    "trip on monday or tuesday",
    "trip monday or on tuesday",
    "trip in june and july",
    "trip yesterday or tomorrow",
    "trip today, yesterday or tuesday",
    "trip last monday to friday",
    "trip since yesterday or last week",
    "trip since 14:30 or 15:00",
    "trip in the owl shift last week",
    "trip on 10 june and 11 june",
    "trip on 10 Jun or 11 Jun",
    "trip 10 Jun 2024",
    "Mar 3 magnet",
    "trip on 10 june, 11 june",
    "trip on 10 and 11 june",
    "trip until and including yesterday",
    "trip on 10 june 2024 and 11 june 2024",
    "trip since 10 june 2024 to 12 july 2024",
    "Pumpe am 10. Juni 2024 und 11. Juni 2024",
    "trip on 2024-06-10, 2024-06-11",
    "trip 2024-06-10 until 2024-06-12",
    "Pumpe am 10. oder am 11. Juni",
    "trip in may and june 2022",
    "trip in june or july 2023",
    "trip on 1 may and on 10 june 2022",
    "trip from may to june 2022",
    "trip yesterday morning and evening",
    "trip 3 or 4 days ago",
    "trip this and last week",
    "trip yesterday and the day before",
    "trip on or before 10 june",
    "trip before, during and after last night",
    "Pumpe Ende letzter Woche",
    "Pumpe Ende Juni 2024",
    # Not then.
    "trip not yesterday",
    "trip except last night",
    "trip except the last week",
    "trip without last week",
    "trip earlier than yesterday",
    "trip more than 2 days ago",
    "trip not in the last week",
    "trip not only yesterday",
    "trip everything but yesterday",
    "Pumpe nicht gestern",
    "Pumpe ohne gestern",
    # No letter is a month, and no word behind a kind.
    "run a test",
    "a run of the linac",
    "run m 3",
    "run may have ended",
    "stop a pump",
    "stop this pump",
    "beam in run mode",
    # A number is no year.
    "energy between 1990 and 2010 mev",
    "energy between 1990 and 2010",
    "from 1990 to 2010 volts",
    "Strom von 2000 bis 2010 A",
    "heater power over 2000",
    "energy of 2048",
    "quench after 2000",
    "quench in 2048",
    # A part of a time is neither of the two.
    "trip last month of 2023",
    "trip last day of the run",
    "trip first week of june",
    "trip end of june",
    "trip march last year",
    "trip two weeks before yesterday",
    "trip the day before 10 june",
    "trip as of yesterday",
    "trip in march last year",
    "trip last week yesterday",
    "day 2024-06-11",
    # Where a bound goes with another day, or with nothing.
    "trip since today until yesterday",
    "trip since 06:45 vacuum until 14:30",
    "trip since yesterday until 14:30",
    # Other words in an English logbook.
    "last tag on breaker",
    "IM 2024",
    "im 2024",
    "DES pump",
]
# What is left, the words that were read, the intervals.
READ = [
    (
        "RF trip last night and this morning",
        "RF trip",
        "last night this morning",
        [OWL, MORNING],
    ),
    ("last night or today trips", "trips", "last night today", [OWL, TODAY]),
    (
        "trip on monday this week",
        "trip",
        "on monday this week",
        ["2024-06-09 22:00 to 2024-06-10 22:00"],
    ),
    ("not trip yesterday", "not trip", "yesterday", [YESTERDAY]),
    ("trip last night but not today", "trip but not today", "last night", [OWL]),
    (
        "since 06:45 until 14:30 trip",
        "trip",
        "since 06:45 until 14:30",
        ["2024-06-12 04:45 to 2024-06-12 12:30"],
    ),
    (
        "trip between 22:00 and 06:00",
        "trip",
        "between 22:00 and 06:00",
        ["2024-06-11 20:00 to 2024-06-12 04:00"],
    ),
    (
        "trip since 06:45 until 14:30 yesterday",
        "trip",
        "since 06:45 until 14:30 yesterday",
        ["2024-06-11 04:45 to 2024-06-11 12:30"],
    ),
    (
        "trip around 10:30 on 10 june",
        "trip",
        "around 10:30 on 10 june",
        ["2024-06-10 08:00 to 2024-06-10 09:00"],
    ),
    ("trip on 10 Jun", "trip", "on 10 Jun", [TENTH]),
    ("trip on Jun. 10", "trip", "on Jun. 10", [TENTH]),
    ("trip on 10th of Jun", "trip", "on 10th of Jun", [TENTH]),
    ("trip Jun 2023", "trip", "Jun 2023", ["2023-05-31 22:00 to 2023-06-30 22:00"]),
    (
        "trip since 06:45 on 10 june",
        "trip",
        "since 06:45 on 10 june",
        ["2024-06-10 04:45 to"],
    ),
    (
        "trip owl shift of 10 june",
        "trip",
        "owl shift of 10 june",
        ["2024-06-09 22:00 to 2024-06-10 06:00"],
    ),
    (
        "trip in march of 2023",
        "trip",
        "in march of 2023",
        ["2023-02-28 23:00 to 2023-03-31 22:00"],
    ),
    ("owl shift last week", "owl shift", "last week", [LAST_WEEK]),
    ("BIS yesterday", "BIS", "yesterday", [YESTERDAY]),
    ("10 am yesterday", "10 am", "yesterday", [YESTERDAY]),
    ("DES letzte Woche", "DES", "letzte Woche", [LAST_WEEK]),
    ("what's new since yesterday", "", "since yesterday", ["2024-06-10 22:00 to"]),
    ("what was going on yesterday", "", "on yesterday", [YESTERDAY]),
    ("was ist letzte Woche passiert?", "", "letzte Woche", [LAST_WEEK]),
    ("was war gestern los", "", "gestern", [YESTERDAY]),
    ("was war gestern mit DES los", "was war mit DES los", "gestern", [YESTERDAY]),
]


@pytest.mark.requirement("S2-03")
@pytest.mark.parametrize("query", WORDS)
def test_what_is_not_surely_a_time_is_searched(query: str) -> None:
    plan = plan_of(query, STOPS)
    assert (told(plan), plan.time.is_inferred) == ([], False)
    assert (plan.filters.since, plan.filters.until) == (None, None)
    assert tree_text.text_of(plan.tree) == query


@pytest.mark.requirement("I02")
@pytest.mark.parametrize(("query", "left", "words", "intervals"), READ)
def test_of_several_times_any_is_enough_and_bounds_all_hold(
    query: str, left: str, words: str, intervals: list[str]
) -> None:
    plan = plan_of(query)
    assert told(plan) == intervals
    assert {one.expression for one in plan.time.written} == {words}
    found = tree_text.text_of(plan.tree).partition(" (date:")[0]
    assert found.replace("(", "").replace(")", "") == left


@pytest.mark.parametrize("said", ["around 10:30", "between 10:00 and 12:00"])
def test_a_time_of_day_beside_a_date_that_is_typed_stays_words(said: str) -> None:
    plan = plan_of(f"trip date:2024-06-10 {said}")
    assert told(plan) == ["2024-06-09 22:00 to 2024-06-10 22:00"]
    assert not plan.time.is_inferred


@pytest.mark.parametrize("query", ["trip NOT last night", "trip -last night"])
def test_no_time_is_read_out_of_what_is_negated(query: str) -> None:
    assert told(plan_of(query)) == []


@pytest.mark.parametrize("query", ["trip - yesterday", 'in 2000 "turns"'])
def test_the_sign_before_a_time_and_what_follows_it_are_seen(query: str) -> None:
    assert told(plan_of(query)) == []


def test_a_bare_year_is_never_sure() -> None:
    assert [one.confidence for one in plan_of("trips since 2020").time.written] == [0.9]


@pytest.mark.parametrize(
    ("hour", "interval"),
    [
        (5, "2024-06-11 20:00 to 2024-06-12 04:00"),
        (12, "2024-06-11 20:00 to 2024-06-12 04:00"),
        (21, "2024-06-12 20:00 to 2024-06-13 04:00"),
    ],
)
@pytest.mark.parametrize("query", ["Pumpe heute Nacht", "Pumpe diese Nacht"])
def test_of_a_logbook_tonight_is_the_night_that_has_begun(hour, interval, query):
    now = datetime(2024, 6, 12, hour, tzinfo=UTC)
    assert told(plan_of(query, replace(GERMAN, now=now))) == [interval]


def test_without_shifts_tonight_is_the_night_that_has_begun() -> None:
    now = datetime(2024, 6, 12, 5, tzinfo=UTC)
    night = "2024-06-11 16:00 to 2024-06-12 04:00"
    assert told(plan_of("Pumpe heute Nacht", Clock(now, ZONE))) == [night]


@pytest.mark.requirement("S2-03")
def test_an_interval_in_which_nothing_lies_is_told_as_well() -> None:
    plan = plan_of("trip last week", date_from="2024-06-11")
    assert told(plan) == ["2024-06-10 22:00 to 2024-06-09 22:00"]
    body = nothing_asked(Plan.from_json(plan.to_json())).to_json()
    assert body["time_range_applied"] is True
    assert len(body["time"]["applied"]) == 1


@pytest.mark.requirement("I02")
@pytest.mark.parametrize("bound", ["after", "since", "before", "until"])
def test_a_bound_that_comes_twice_asks_for_its_own_two_moments(bound: str) -> None:
    clock = replace(CLOCK, now=datetime(2024, 10, 27, 12, tzinfo=UTC))
    plan = plan_of(f"trip {bound} 02:30", clock)
    (question,) = plan.time.asks
    assert "02:30 CEST (00:30 UTC)" in question
    assert "02:30 CET (01:30 UTC)" in question
    # No more is left out than was said.
    at = {"after": "00:30 to", "since": "00:30 to"}.get(bound)
    expected = f"2024-10-27 {at}" if at else "to 2024-10-27 01:30"
    assert told(plan) == [expected]


def test_a_calendar_of_a_thousand_periods_costs_a_question_little() -> None:
    first = date(1990, 1, 1)
    periods = tuple(
        Period(
            name=f"Run {number}",
            kind="run",
            begins=first + number * 10 * timedelta(days=1),
            ends=first + (number * 10 + 8) * timedelta(days=1),
        )
        for number in range(1000)
    )

    def ask(periods: tuple[Period, ...]) -> None:
        clock = replace(CLOCK, periods=periods)
        for _ in range(5):
            plan_of("trip on the pump since run 7 in the last week", clock)

    assert_linear(ask, periods)
