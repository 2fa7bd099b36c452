"""Times among the words of a question: what they mean, and what is left to be found."""

from dataclasses import replace
from datetime import UTC, date, datetime
from datetime import time as time_of_day

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.search.query.language import grammar, tree_text
from shared.search.query.language.tree import And, Field, Or, Words
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.query.times import extract_times
from shared.search.response.respond import nothing_asked
from shared.text.facility import facility
from shared.times.calendar import NO_CLOCK, Clock
from shared.times.operating_periods import Period
from shared.times.shifts import NO_SHIFTS
from shared.times.time_phrases import MOST_YEARS
from tests.support.linear_cost import assert_linear
from tests.unit.times.test_date_expressions import CLOCK as WITHOUT_CALENDAR
from tests.unit.times.test_date_expressions import ZONE

SCOPE = Scope("default", "anna", (), None, frozenset({"search"}), "k1")
CALENDAR = (
    Period(
        name="July shutdown",
        kind="shutdown",
        begins=date(2023, 7, 3),
        ends=date(2023, 7, 30),
    ),
    Period(
        name="Christmas stop",
        kind="shutdown",
        begins=date(2023, 12, 20),
        ends=date(2024, 1, 14),
    ),
    Period(name="Run 7", kind="run", begins=date(2024, 1, 15), ends=date(2024, 7, 5)),
)
# Wednesday, 12 June 2024, 14:00 in Zurich; shifts: owl 0 h, day 8 h, swing 16 h.
CLOCK = replace(WITHOUT_CALENDAR, periods=CALENDAR)
_TIME = "%Y-%m-%d %H:%M"
OWL = "2024-06-11 22:00 to 2024-06-12 06:00"
YESTERDAY = "2024-06-10 22:00 to 2024-06-11 22:00"
LAST_WEEK = "2024-06-02 22:00 to 2024-06-09 22:00"
JULY = "2023-07-02 22:00 to 2023-07-30 22:00"
STOP = "2023-12-19 23:00 to 2024-01-14 23:00"


def plan_of(query: str, clock: Clock = CLOCK, **filters: object) -> Plan:
    return make_plan(SearchQuery(query, filters=filters), SCOPE, PlanLimits(), clock)


def told(plan: Plan) -> list[str]:
    """Return each interval of a plan in UTC, as the tables write it."""
    said = []
    for one in (*plan.time.written, *plan.time.happened):
        ends = [
            end and datetime.fromisoformat(end).strftime(_TIME)
            for end in (one.since, one.until)
        ]
        said.append(" to ".join(end or "" for end in ends).strip())
    return said


# The question, what is left of it, the words of the time, its interval, how sure it is.
TABLE = [
    ("RF trip last night's owl shift", "RF trip", "last night's owl shift", OWL, 0.9),
    (
        "trips since the previous shift",
        "trips",
        "since the previous shift",
        "2024-06-11 22:00 to",
        0.9,
    ),
    (
        "Monday swing vacuum",
        "vacuum",
        "Monday swing",
        "2024-06-10 14:00 to 2024-06-10 22:00",
        1.0,
    ),
    (
        "what was done in the July shutdown",
        "what was done",
        "in the July shutdown",
        JULY,
        0.9,
    ),
    ("July shutdown leak", "leak", "July shutdown", JULY, 0.9),
    (
        "leak since the January shutdown",
        "leak",
        "since the January shutdown",
        "2023-12-19 23:00 to",
        0.9,
    ),
    ("leak during the last shutdown", "leak", "during the last shutdown", STOP, 0.9),
    ("leak before run 7", "leak", "before run 7", "to 2024-01-14 23:00", 0.9),
    (
        "beam loss around 06:45 +-30 min",
        "beam loss",
        "around 06:45 +-30 min",
        "2024-06-12 04:15 to 2024-06-12 05:15",
        0.9,
    ),
    (
        "beam loss around 06:45 \u00b1 30 min?",
        "beam loss",
        "around 06:45 \u00b1 30 min",
        "2024-06-12 04:15 to 2024-06-12 05:15",
        0.9,
    ),
    (
        "beam loss around 18:00",
        "beam loss",
        "around 18:00",
        "2024-06-11 15:30 to 2024-06-11 16:30",
        0.7,
    ),
    (
        "beam loss around 18:00 +/- 2 h on monday",
        "beam loss",
        "around 18:00 +/- 2 h on monday",
        "2024-06-10 14:00 to 2024-06-10 18:00",
        1.0,
    ),
    (
        "yesterday around 06:45 beam loss",
        "beam loss",
        "yesterday around 06:45",
        "2024-06-11 04:15 to 2024-06-11 05:15",
        0.7,
    ),
    ("RF trip last night", "RF trip", "last night", OWL, 0.9),
    (
        "trips in the night of 11 June 2024",
        "trips",
        "in the night of 11 June 2024",
        # Its evening or its morning: it may be either.
        "2024-06-10 16:00 to 2024-06-12 04:00",
        0.7,
    ),
    (
        "trips in the night before 12 June 2024",
        "trips",
        "in the night before 12 June 2024",
        "2024-06-11 16:00 to 2024-06-12 04:00",
        1.0,
    ),
    ("RF trip last week", "RF trip", "last week", LAST_WEEK, 0.9),
    ("Last week, RF trip", "RF trip", "Last week", LAST_WEEK, 0.9),
    (
        "show beam loss events from January",
        "show beam loss events",
        "from January",
        "2023-12-31 23:00 to 2024-01-31 23:00",
        0.9,
    ),
    (
        "trips in June 2024",
        "trips",
        "in June 2024",
        "2024-05-31 22:00 to 2024-06-30 22:00",
        1.0,
    ),
    ("trips in 2023", "trips", "in 2023", "2022-12-31 23:00 to 2023-12-31 23:00", 0.9),
    (
        "trips on 10 June",
        "trips",
        "on 10 June",
        # A day that is named, and the next, on which it is told of.
        "2024-06-09 22:00 to 2024-06-11 22:00",
        0.9,
    ),
    (
        "trips on June 20th",
        "trips",
        "on June 20th",
        "2023-06-19 22:00 to 2023-06-21 22:00",
        0.9,
    ),
    (
        "trips on 2024-06-11",
        "trips",
        "on 2024-06-11",
        "2024-06-10 22:00 to 2024-06-12 22:00",
        1.0,
    ),
    ("trips since monday", "trips", "since monday", "2024-06-09 22:00 to", 0.9),
    (
        "trips between monday and yesterday",
        "trips",
        "between monday and yesterday",
        "2024-06-09 22:00 to 2024-06-11 22:00",
        0.9,
    ),
    (
        "trips from 2024-06-01 to 2024-06-07",
        "trips",
        "from 2024-06-01 to 2024-06-07",
        "2024-05-31 22:00 to 2024-06-07 22:00",
        1.0,
    ),
    (
        "trips in the last three hours",
        "trips",
        "in the last three hours",
        "2024-06-12 09:00 to 2024-06-12 12:00",
        0.9,
    ),
    (
        "2 days ago pump",
        "pump",
        "2 days ago",
        "2024-06-09 22:00 to 2024-06-10 22:00",
        1.0,
    ),
    ("yesterday's trips", "trips", "yesterday's", YESTERDAY, 1.0),
    (
        "trips yesterday morning",
        "trips",
        "yesterday morning",
        "2024-06-11 04:00 to 2024-06-11 10:00",
        0.9,
    ),
    (
        "night shift yesterday trips",
        "trips",
        "night shift yesterday",
        "2024-06-10 22:00 to 2024-06-11 06:00",
        1.0,
    ),
    (
        "trips since yesterday until 2 hours ago",
        "trips",
        "since yesterday until 2 hours ago",
        "2024-06-10 22:00 to 2024-06-12 11:00",
        1.0,
    ),
    ("yesterday trips AND vacuum", "trips AND vacuum", "yesterday", YESTERDAY, 1.0),
    (
        "trips over the weekend",
        "trips",
        "over the weekend",
        "2024-06-07 22:00 to 2024-06-09 22:00",
        0.9,
    ),
    ("trips since 06:45", "trips", "since 06:45", "2024-06-12 04:45 to", 0.9),
    ("trips before 18:00", "trips", "before 18:00", "to 2024-06-11 16:00", 0.9),
    (
        "trips after 06:45 yesterday",
        "trips",
        "after 06:45 yesterday",
        "2024-06-11 04:45 to",
        1.0,
    ),
    # Nothing but a time: what was written then is listed.
    (
        "what happened since the previous shift?",
        "",
        "since the previous shift",
        "2024-06-11 22:00 to",
        0.9,
    ),
    ("yesterday", "", "yesterday", YESTERDAY, 1.0),
    (
        "what changed since yesterday",
        "",
        "since yesterday",
        f"{YESTERDAY[:16]} to",
        1.0,
    ),
    ("what did the owl shift do?", "", "the owl shift", OWL, 0.9),
    ("Was hat die Nachtschicht gemacht?", "", "die Nachtschicht", OWL, 0.9),
]
# What names no time, or may mean something else, is searched as it stands.
UNTOUCHED = [
    "beam loss",
    '"last night" trip',
    "trip -yesterday",
    "yesterday OR vacuum",
    "march may august",
    "monday meeting",
    "2024-06-10 trip",
    "alarm at 12:30",
    "what did the night shift report",
    "why did the owl shift leave",
    "owl shift",
    "day pump in on swing",
    "at night",
    "in 2000 turns",
    "weekend crew",
    "current shift of the beam",
    "last cavity",
    "previous run 9000",
    "since:yesterday2 x",
    "in May2",
]


@pytest.mark.requirement("I02", "S2-03")
@pytest.mark.parametrize(
    ("query", "left", "words", "interval", "sure"),
    TABLE,
    ids=[f"{n}-{row[0][:40]!a}" for n, row in enumerate(TABLE)],
)
def test_words_of_a_time_are_an_interval_and_are_not_searched(
    query: str, left: str, words: str, interval: str, sure: float
) -> None:
    plan = plan_of(query)
    assert told(plan) == [interval]
    assert tree_text.text_of(plan.tree).replace("(", "").replace(")", "") == left
    (applied,) = plan.time.written
    assert (applied.expression, applied.confidence) == (words, sure)
    assert (plan.filters.since, plan.filters.until) == (applied.since, applied.until)
    body = nothing_asked(Plan.from_json(plan.to_json())).to_json()
    (echo,) = body["time"]["applied"]
    assert (body["time_range_applied"], body["time"]["inferred"]) == (True, True)
    assert (echo["zone"], echo["field"]) == (ZONE, "entry_time")


@pytest.mark.requirement("S2-03")
@pytest.mark.parametrize("query", UNTOUCHED)
def test_what_names_no_time_is_not_narrowed(query: str) -> None:
    plan = plan_of(query)
    assert plan.tree == grammar.parse(query, CLOCK).tree
    assert (plan.time.written, plan.time.is_inferred) == ((), False)
    body = nothing_asked(plan).to_json()
    assert (body["time_range_applied"], body["time"]["inferred"]) == (False, False)


# Zurich: clocks go forward on 31 March 2024 at 02:00, back on 27 October at 03:00.
@pytest.mark.requirement("I02")
@pytest.mark.parametrize(
    ("now", "query", "intervals", "sure"),
    [
        (
            "2024-03-31 12:00",
            "last night's owl shift",
            ["2024-03-30 23:00 to 2024-03-31 06:00"],
            0.9,
        ),
        (
            "2024-10-27 12:00",
            "last night's owl shift",
            ["2024-10-26 22:00 to 2024-10-27 07:00"],
            0.9,
        ),
        ("2024-03-31 12:00", "today", ["2024-03-30 23:00 to 2024-03-31 22:00"], 1.0),
        ("2024-10-27 12:00", "today", ["2024-10-26 22:00 to 2024-10-27 23:00"], 1.0),
        # It was never shown: as much later as the gap is wide, and not sure.
        (
            "2024-03-31 12:00",
            "around 02:30 +-10 min",
            ["2024-03-31 01:20 to 2024-03-31 01:40"],
            0.5,
        ),
        # It was shown twice.
        (
            "2024-10-27 12:00",
            "around 02:30 +-10 min",
            [
                "2024-10-27 00:20 to 2024-10-27 00:40",
                "2024-10-27 01:20 to 2024-10-27 01:40",
            ],
            0.5,
        ),
    ],
)
def test_a_time_of_a_night_on_which_clocks_change(now, query, intervals, sure) -> None:
    clock = replace(CLOCK, now=datetime.fromisoformat(now).replace(tzinfo=UTC))
    plan = plan_of(f"{query} trip", clock)
    assert told(plan) == intervals
    assert [one.confidence for one in plan.time.written] == [sure] * len(intervals)
    assert len(plan.time.asks) == len(intervals) - 1


@pytest.mark.requirement("I02")
@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("trip around 02:30 +-10 min", {}),
        ("trip date:'2024-10-27 02:30'".replace("'", '"'), {}),
        ("trip", {"date_from": "2024-10-27 02:30"}),
    ],
)
def test_a_time_that_comes_twice_is_asked_back(query, filters) -> None:
    clock = replace(CLOCK, now=datetime(2024, 10, 27, 12, tzinfo=UTC))
    plan = plan_of(query, clock, **filters)
    (question,) = plan.time.asks
    assert "CEST" in question
    assert "CET" in question
    said = nothing_asked(Plan.from_json(plan.to_json())).to_json()["context_answer"]
    assert said["questions"] == [question]


@pytest.mark.requirement("I02")
def test_of_a_time_that_comes_twice_both_are_searched_and_nothing_between() -> None:
    clock = replace(CLOCK, now=datetime(2024, 10, 27, 12, tzinfo=UTC))
    tree = plan_of('date:"2024-10-27 02:30"', clock).tree
    assert isinstance(tree, Or)
    ends = [
        (one.filters.since, one.filters.until)
        for one in tree.parts
        if isinstance(one, Field)
    ]
    day = "2024-10-27T0"
    tail = ":00.000+00:00"
    assert ends == [
        (f"{day}0:30{tail}", f"{day}0:31{tail}"),
        (f"{day}1:30{tail}", f"{day}1:31{tail}"),
    ]


@pytest.mark.requirement("I02")
def test_what_happened_then_need_not_have_been_written_then() -> None:
    plan = plan_of("trip that happened yesterday")
    assert (plan.time.written, told(plan)) == ((), [YESTERDAY])
    body = nothing_asked(Plan.from_json(plan.to_json())).to_json()
    (echo,) = body["time"]["applied"]
    assert (echo["field"], echo["expression"]) == ("event_time", "happened yesterday")
    # Most entries do not say when it happened: when they were written counts, too.
    assert isinstance(plan.tree, And)
    either = plan.tree.parts[-1]
    assert isinstance(either, Or)
    asked = {
        (bool(one.filters.happened_since), bool(one.filters.since))
        for one in either.parts
        if isinstance(one, Field)
    }
    assert asked == {(True, False), (False, True)}


@pytest.mark.parametrize(
    ("said", "since"),
    [
        ("in the night of 22 December 2023", "2023-12-21 17:00"),
        ("the night of 2023-12-22", "2023-12-21 17:00"),
        ("during the night to 23 December 2023", "2023-12-22 17:00"),
        ("night shift of 22 December 2023", "2023-12-22 17:00"),
        ("Nachtschicht vom 22. Dezember", "2023-12-22 17:00"),
        ("in der Nacht auf den 23. Dezember", "2023-12-22 17:00"),
    ],
)
def test_the_night_of_a_day_goes_to_its_morning_where_no_shifts_are_known(said, since):
    clock = replace(CLOCK, shifts=NO_SHIFTS)
    plan = plan_of(f"trips {said}", clock)
    assert told(plan) == [f"{since} to 2023-12-23 05:00"]
    assert plan.tree == Words("trips", 0)


@pytest.mark.requirement("I02", "U29")
@pytest.mark.parametrize(
    ("starts", "query", "interval"),
    [
        ("12:00", "trip today", "2024-06-12 10:00 to 2024-06-13 10:00"),
        (
            "12:00",
            "trip yesterday around 02:00 +-1 h",
            "2024-06-11 23:00 to 2024-06-12 01:00",
        ),
        (
            "00:00",
            "trip yesterday around 02:00 +-1 h",
            "2024-06-10 23:00 to 2024-06-11 01:00",
        ),
    ],
)
def test_a_night_belongs_to_the_day_that_it_begins_in(starts, query, interval) -> None:
    clock = replace(CLOCK, day_starts=time_of_day.fromisoformat(starts))
    assert told(plan_of(query, clock)) == [interval]


def test_a_facility_without_shifts_or_calendar_reads_what_it_can() -> None:
    clock = Clock(CLOCK.now, ZONE)
    assert told(plan_of("trip last night", clock)) == [
        "2024-06-11 16:00 to 2024-06-12 04:00"
    ]
    assert told(plan_of("trip swing shift yesterday", clock)) == [YESTERDAY]
    assert plan_of("last shutdown", clock).time.written == ()


def test_times_that_have_nothing_in_common_are_each_searched() -> None:
    plan = plan_of("trip last week or yesterday")
    assert told(plan) == [LAST_WEEK, YESTERDAY]


def test_the_words_and_the_filters_both_hold() -> None:
    plan = plan_of("trip last week", date_from="2024-06-05")
    assert told(plan) == ["2024-06-04 22:00 to 2024-06-09 22:00"]
    assert plan.time.written[0].expression == "date_from=2024-06-05 last week"


def test_who_does_not_know_what_is_now_searches_the_words() -> None:
    assert plan_of("trip last week", NO_CLOCK).time.written == ()


def test_a_calendar_in_the_facilitys_file_has_no_entry_read_anew(tmp_path) -> None:
    path = tmp_path / "facility.yaml"
    path.write_text("not_names: [rack]\n", "utf-8")
    before = facility.load(path, ZONE)
    path.write_text(
        "not_names: [rack]\ncalendar:\n  - {name: July shutdown, kind: shutdown,"
        " begins: 2023-07-03, ends: 2023-07-30}\n",
        "utf-8",
    )
    after = facility.load(path, ZONE)
    assert after.calendar == CALENDAR[:1]
    assert after.fingerprint == before.fingerprint
    assert after.facts_fingerprint == before.facts_fingerprint
    # The order of a search may change with it.
    assert after.whole_fingerprint != before.whole_fingerprint


@pytest.mark.parametrize(
    ("day", "query", "saturday"),
    [(8, "this weekend", 8), (9, "last weekend", 1), (10, "last weekend", 8)],
)
def test_a_weekend_is_the_latest_or_the_last_that_is_over(day, query, saturday) -> None:
    clock = Clock(datetime(2024, 6, day, 12, tzinfo=UTC))
    found = told(plan_of(f"{query} trip", clock))
    assert found == [f"2024-06-0{saturday} 00:00 to 2024-06-{saturday + 2:02} 00:00"]


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="ends before it begins"):
        Period(name="x", kind="run", begins=date(2024, 1, 2), ends=date(2024, 1, 1))


_WORDS = st.sampled_from(
    [
        *("last", "the", "in", "since", "between", "and", "monday", "owl", "shift"),
        *("around", "06:45", "+-30", "min", "june", "2024", "3", "days", "ago", "trip"),
        *("or", "not", "of", "until", "before", "vor", "seit", "BIS", "letzten"),
        *("happened", "yesterday", "31", "feb", "shutdown", "run", "night", "24:61"),
    ]
)


@given(st.one_of(st.text(max_size=80), st.lists(_WORDS, max_size=12).map(" ".join)))
@example("on june 31st")
@example('YESTERDAY"UNTIL MONDAY')
@example("9999 years ago")
@example("in 2200")
@example("around 06:45 +-0 min")
def test_of_any_question_what_is_no_time_is_left(text: str) -> None:
    tree = grammar.parse(text, CLOCK).tree
    found = extract_times.extract_times(tree, text, CLOCK)
    plan = plan_of(text)
    assert Plan.from_json(plan.to_json()) == plan
    # Several that cannot all be meant are left as words after all.
    assert bool(found.times) or not plan.time.is_inferred
    for one in found.times:
        assert text[one.start :].lower().startswith(one.words.split()[0].lower())
        assert 0 < one.reading.confidence <= 1


def test_a_long_question_of_times_takes_little_time() -> None:
    def read(asked: str) -> None:
        plan_of(asked[:1000])
        extract_times.extract_times(grammar.parse(asked, CLOCK).tree, asked, CLOCK)

    assert_linear(read, "in the last between around since 3 monday " * 200)


@pytest.mark.parametrize(
    ("said", "edges"),
    [
        ("on 10 June", {"2024-06-10 22:00": "2024-06-11 22:00"}),
        ("on 2024-06-11", {"2024-06-11 22:00": "2024-06-12 22:00"}),
        ("am 10. Juni", {"2024-06-10 22:00": "2024-06-11 22:00"}),
        # Nothing is written behind today, and these are told apart from today.
        ("on 12 June", {}),
        *(("yesterday", {}), ("on monday", {}), ("in June", {})),
        *(("since 10 June", {}), ("before 10 June", {})),
        ("around 06:45 on 10 June", {}),
    ],
)
def test_behind_a_day_that_is_named_entries_stand_further_down(said, edges) -> None:
    found = plan_of(f"trips {said}").ordering.beside_day.items()
    assert {
        datetime.fromisoformat(one).strftime(_TIME): datetime.fromisoformat(
            other
        ).strftime(_TIME)
        for one, other in found
    } == edges


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("on 10 June", "2023-06-09"),
        ("in March", "2023-02-28"),
        ("in the night of 22 February", "2023-02-21"),
        ("since 10 June", None),
        *(("on 10 June 2024", None), ("yesterday", None), ("last march", None)),
        ("in 2023", None),
    ],
)
def test_a_date_without_a_year_may_be_one_of_an_earlier_year(said, first) -> None:
    plan = plan_of(f"trips {said}")
    assert plan.time.elsewhen is not None
    earlier = plan.time.elsewhen.earlier
    assert [one[:10] for one, _ in earlier[:1]] == ([first] if first else [])
    assert len(earlier) == (MOST_YEARS if first else 0)
    assert Plan.from_json(plan.to_json()) == plan
