"""Dates in questions: what interval each means on the facility's clock."""

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.search.query.language import field_filters
from shared.times import date_expressions, shifts
from shared.times.calendar import NO_CLOCK, Clock, Span
from shared.times.shifts import Shift

ZONE = "Europe/Zurich"
PLAN = shifts.plan(
    [
        Shift(name="owl", begins="00:00"),
        Shift(name="day", begins="08:00"),
        Shift(name="swing", begins="16:00"),
    ],
    ZONE,
)
# Wednesday, 14:00 there.
NOW = datetime(2024, 6, 12, 12, tzinfo=UTC)
CLOCK = Clock(NOW, ZONE, shifts=PLAN)
WITHOUT_SHIFTS = Clock(NOW, ZONE)
NIGHTS = Clock(NOW, ZONE, time(12))
_TIME = "%Y-%m-%d %H:%M"


def told(span: Span | None) -> str | None:
    """Return an interval in UTC as the tables write it."""
    if span is None:
        return None
    ends = [end and end.strftime(_TIME) for end in (span.since, span.until)]
    return " to ".join(end or "" for end in ends).strip()


JUNE = "2024-05-31 22:00 to 2024-06-30 22:00"
TENTH = "2024-06-09 22:00 to 2024-06-10 22:00"
TODAY = "2024-06-11 22:00 to 2024-06-12 22:00"
YESTERDAY = "2024-06-10 22:00 to 2024-06-11 22:00"
TABLE = [
    ("2024", "2023-12-31 23:00 to 2024-12-31 23:00"),
    ("2024-06", JUNE),
    ("2024-6", JUNE),
    ("June 2024", JUNE),
    ("june", JUNE),
    ("july", "2023-06-30 22:00 to 2023-07-31 22:00"),
    ("2024-12", "2024-11-30 23:00 to 2024-12-31 23:00"),
    ("2024-W24", "2024-06-09 22:00 to 2024-06-16 22:00"),
    ("2024-06-10", TENTH),
    ("10.6.2024", TENTH),
    ("10 Jun 2024", TENTH),
    ("June 10, 2024", TENTH),
    ("2024-06-10 04:12", "2024-06-10 02:12 to 2024-06-10 02:13"),
    ("2024-06-10T04:12Z", "2024-06-10 04:12 to 2024-06-10 04:13"),
    ("2024-06-10T04:12+05:00", "2024-06-09 23:12 to 2024-06-09 23:13"),
    ("2024-06-01..2024-06-07", "2024-05-31 22:00 to 2024-06-07 22:00"),
    ("2024-06-01 .. 2024-06-07", "2024-05-31 22:00 to 2024-06-07 22:00"),
    ("2023..2024-06", "2022-12-31 23:00 to 2024-06-30 22:00"),
    ("2024-06..", "2024-05-31 22:00 to"),
    ("..2024-06", "to 2024-06-30 22:00"),
    (">=2024-06", "2024-05-31 22:00 to"),
    (">2024-06", "2024-06-30 22:00 to"),
    ("<2024-06", "to 2024-05-31 22:00"),
    ("<= 2024-06", "to 2024-06-30 22:00"),
    ("since yesterday", "2024-06-10 22:00 to"),
    ("before 2024-06-10", "to 2024-06-09 22:00"),
    ("today", TODAY),
    ("Yesterday", YESTERDAY),
    ("day before yesterday", TENTH),
    ("yesterday..today", "2024-06-10 22:00 to 2024-06-12 22:00"),
    ("monday", TENTH),
    ("wednesday", TODAY),
    ("last wednesday", "2024-06-04 22:00 to 2024-06-05 22:00"),
    ("this week", "2024-06-09 22:00 to 2024-06-16 22:00"),
    ("last week", "2024-06-02 22:00 to 2024-06-09 22:00"),
    ("last month", "2024-04-30 22:00 to 2024-05-31 22:00"),
    ("this month", JUNE),
    ("last year", "2022-12-31 23:00 to 2023-12-31 23:00"),
    ("past week", "2024-06-05 12:00 to 2024-06-12 12:00"),
    ("last hour", "2024-06-12 11:00 to 2024-06-12 12:00"),
    ("this hour", "2024-06-12 12:00 to 2024-06-12 13:00"),
    ("last 3 hours", "2024-06-12 09:00 to 2024-06-12 12:00"),
    ("past 2 days", "2024-06-10 12:00 to 2024-06-12 12:00"),
    ("2 days ago", TENTH),
    ("an hour ago", "2024-06-12 11:00 to 2024-06-12 12:00"),
    ("now", "2024-06-12 12:00 to 2024-06-12 12:00"),
    ("this morning", "2024-06-12 04:00 to 2024-06-12 10:00"),
    ("yesterday evening", "2024-06-11 16:00 to 2024-06-11 22:00"),
    ("owl", "2024-06-11 22:00 to 2024-06-12 06:00"),
    ("swing", "2024-06-11 14:00 to 2024-06-11 22:00"),
    ("last night", "2024-06-11 22:00 to 2024-06-12 06:00"),
    ("last night's owl shift", "2024-06-11 22:00 to 2024-06-12 06:00"),
    ("since the previous shift", "2024-06-11 22:00 to"),
    ("night shift yesterday", "2024-06-10 22:00 to 2024-06-11 06:00"),
    ("yesterday\u2019s owl shift", "2024-06-10 22:00 to 2024-06-11 06:00"),
    ("monday swing", "2024-06-10 14:00 to 2024-06-10 22:00"),
    ("swing shift 2024-06-01", "2024-06-01 14:00 to 2024-06-01 22:00"),
    ("this shift", "2024-06-12 06:00 to 2024-06-12 14:00"),
    ("previous shift", "2024-06-11 22:00 to 2024-06-12 06:00"),
    ("last day shift", "2024-06-11 06:00 to 2024-06-11 14:00"),
    ("current day shift", "2024-06-12 06:00 to 2024-06-12 14:00"),
    # Nothing that can be read, or can be read in one way only.
    ("", None),
    ("soon", None),
    ("2024-13", None),
    ("2024-02-30", None),
    ("06/10/2024", None),
    ("1900", "1899-12-31 23:00 to 1900-12-31 23:00"),
    ("1899", None),
    ("last 12 months", "2023-06-12 12:00 to 2024-06-12 12:00"),
    ("past month", "2024-05-12 12:00 to 2024-06-12 12:00"),
    # In winter the clock there is an hour behind.
    ("last 6 months", "2023-12-12 13:00 to 2024-06-12 12:00"),
    ("last 4 years", "2020-06-12 12:00 to 2024-06-12 12:00"),
    ("12 months ago", "2023-06-11 22:00 to 2023-06-12 22:00"),
    ("a year ago", "2023-06-11 22:00 to 2023-06-12 22:00"),
    ("last 2027 years", None),
    ("2201", None),
    ("99999-01-01", None),
    ("2024-06-07..2024-06-01", None),
    ("..", None),
    ("9999 years ago", None),
    ("2024-06-10 12:00 Mars/Olympus", None),
    ("shift", None),
    ("x" * 1000, None),
]


@pytest.mark.requirement("S0-17")
@pytest.mark.parametrize(
    ("text", "meant"),
    TABLE,
    ids=[f"{n}-{text[:30]!a}" for n, (text, _) in enumerate(TABLE)],
)
def test_a_date_means_what_the_table_says(text: str, meant: str | None) -> None:
    assert told(date_expressions.parse_date_expression(text, CLOCK)) == meant


# Zurich: clocks go forward on 31 March 2024 at 02:00, back on 27 October at 03:00.
@pytest.mark.requirement("S0-17")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2024-03-31", "2024-03-30 23:00 to 2024-03-31 22:00"),
        ("2024-10-27", "2024-10-26 22:00 to 2024-10-27 23:00"),
        ("2024-03", "2024-02-29 23:00 to 2024-03-31 22:00"),
        ("owl 2024-03-31", "2024-03-30 23:00 to 2024-03-31 06:00"),
        ("owl 2024-10-27", "2024-10-26 22:00 to 2024-10-27 07:00"),
        # It comes twice: from the first on until the second is over.
        ("2024-10-27 02:30", "2024-10-27 00:30 to 2024-10-27 01:31"),
        # It never comes: as much later as the gap is wide.
        ("2024-03-31 02:30", "2024-03-31 01:30 to 2024-03-31 01:31"),
    ],
)
def test_a_day_on_which_clocks_change_is_whole(text: str, meant: str) -> None:
    assert told(date_expressions.parse_date_expression(text, CLOCK)) == meant


@pytest.mark.requirement("S0-17")
@given(st.dates(date(1901, 1, 1), date(2199, 12, 30)), st.sampled_from([0, 8, 12]))
@example(date(2024, 3, 31), 0)
@example(date(2024, 10, 26), 12)
def test_days_follow_each_other_without_gap_or_overlap(one: date, hour: int) -> None:
    clock = Clock(None, ZONE, time(hour), PLAN)
    day, following = clock.day(one), clock.day(one + timedelta(days=1))
    assert day.until == following.since
    turns = [clock.shift(shift, one) for shift in PLAN.shifts]
    spans = sorted(turns, key=lambda span: str(span.since))
    assert all(a.until == b.since for a, b in itertools.pairwise(spans))
    assert all(day.since <= span.since < day.until for span in spans)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("today", "2024-06-12 10:00 to 2024-06-13 10:00"),
        ("2024-06-10", "2024-06-10 10:00 to 2024-06-11 10:00"),
        ("2024-06", "2024-06-01 10:00 to 2024-07-01 10:00"),
    ],
)
def test_where_nights_count_a_day_goes_from_noon_to_noon(text: str, meant: str) -> None:
    assert told(date_expressions.parse_date_expression(text, NIGHTS)) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        # In a day from noon to noon the owl shift comes last, after the swing.
        ("owl 2024-06-10", "2024-06-10 22:00 to 2024-06-11 06:00"),
        ("swing 2024-06-10", "2024-06-10 14:00 to 2024-06-10 22:00"),
        ("last night", "2024-06-11 22:00 to 2024-06-12 06:00"),
        ("owl 2024-03-30", "2024-03-30 23:00 to 2024-03-31 06:00"),
        ("owl 2024-10-26", "2024-10-26 22:00 to 2024-10-27 07:00"),
        ("2024-03-30", "2024-03-30 11:00 to 2024-03-31 10:00"),
        ("2024-10-26", "2024-10-26 10:00 to 2024-10-27 11:00"),
    ],
)
def test_where_nights_count_the_owl_shift_belongs_to_its_evening(text, meant) -> None:
    assert (
        told(date_expressions.parse_date_expression(text, replace(NIGHTS, shifts=PLAN)))
        == meant
    )


def test_before_noon_a_night_belongs_to_the_day_before() -> None:
    early = Clock(datetime(2024, 6, 12, 9, tzinfo=UTC), ZONE, time(12))
    assert (
        told(date_expressions.parse_date_expression("today", early))
        == "2024-06-11 10:00 to 2024-06-12 10:00"
    )


def test_without_a_plan_of_shifts_last_night_goes_from_evening_to_morning() -> None:
    found = told(date_expressions.parse_date_expression("last night", WITHOUT_SHIFTS))
    assert found == "2024-06-11 16:00 to 2024-06-12 04:00"
    assert date_expressions.parse_date_expression("owl", WITHOUT_SHIFTS) is None


def test_last_night_is_over() -> None:
    night = Clock(datetime(2024, 6, 12, 1, tzinfo=UTC), ZONE, shifts=PLAN)
    found = told(date_expressions.parse_date_expression("last night", night))
    assert found == "2024-06-10 22:00 to 2024-06-11 06:00"


def test_who_does_not_know_what_is_now_cannot_read_yesterday() -> None:
    assert date_expressions.parse_date_expression("2024-06", NO_CLOCK) is not None
    texts = ("yesterday", "june", "last 3 hours", "this week", "monday", "last night")
    assert [
        date_expressions.parse_date_expression(text, NO_CLOCK) for text in texts
    ] == [None] * len(texts)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("date", JUNE),
        ("since", "2024-05-31 22:00 to"),
        ("from", "2024-05-31 22:00 to"),
        ("after", "2024-06-30 22:00 to"),
        ("before", "to 2024-05-31 22:00"),
        ("until", "to 2024-06-30 22:00"),
    ],
)
def test_a_field_takes_its_end_of_an_interval(name: str, meant: str) -> None:
    filters = field_filters.parse_field(name, "2024-06", CLOCK)
    assert filters is not None
    ends = [
        end and datetime.fromisoformat(end).strftime(_TIME)
        for end in (filters.since, filters.until)
    ]
    assert " to ".join(end or "" for end in ends).strip() == meant


_WORDS = st.sampled_from(
    [
        *("last", "this", "past", "owl", "shift", "night", "monday", "june"),
        *("2024", "-"),
        *("week", "ago", "3", "..", ">=", "since", "12:00", "06", ".", "morning", " "),
    ]
)


@given(st.one_of(st.text(max_size=70), st.lists(_WORDS, max_size=8).map(" ".join)))
@example("9" * 60)
@example("last 9999 years")
@example("2200-12-31")
@example("1900-01-01 00:00 +14")
def test_any_text_is_read_or_not(text: str) -> None:
    span = date_expressions.parse_date_expression(text, CLOCK)
    if span is not None and span.since and span.until:
        assert span.since < span.until
