"""Whatever a logbook writes for a time is one moment in UTC, or refused by name."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import MalformedEntryError
from shared.times.source_times import Moment, parse_source_time
from tests.support.linear_cost import assert_linear

BERLIN = "Europe/Berlin"
CHICAGO = "America/Chicago"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # RFC 3339 and its relatives.
        ("2024-06-10T04:12:00Z", utc(2024, 6, 10, 4, 12)),
        ("2024-06-10t04:12:00.5z", utc(2024, 6, 10, 4, 12, 0, 500_000)),
        ("2024-06-10 04:12:00,123456789+02:00", utc(2024, 6, 10, 2, 12, 0, 123_456)),
        ("2024-06-10T11:38:00.392+0000", utc(2024, 6, 10, 11, 38, 0, 392_000)),
        ("2024-06-10T04:12-07", utc(2024, 6, 10, 11, 12)),
        ("2024-06-10 04:12 -07:00", utc(2024, 6, 10, 11, 12)),
        ("20240610T041200Z", utc(2024, 6, 10, 4, 12)),
        ("2024-06-10T04:12:00 UTC", utc(2024, 6, 10, 4, 12)),
        ("2024-06-10T04:12:00 GMT+2", utc(2024, 6, 10, 2, 12)),
        ("2024/06/10 04:12:33 EST", utc(2024, 6, 10, 9, 12, 33)),
        ("1998-12-31 11:43 EST", utc(1998, 12, 31, 16, 43)),
        ("1999-06-23 14:10 YDT", utc(1999, 6, 23, 22, 10)),
        # Mail, with the years and zones that old servers wrote.
        ("Tue, 14 May 2024 06:12:09 +0200", utc(2024, 5, 14, 4, 12, 9)),
        ("Tue, 14 May 2024 06:12:09 +0200 (CEST)", utc(2024, 5, 14, 4, 12, 9)),
        ("14 May 2024 06:12 GMT", utc(2024, 5, 14, 6, 12)),
        ("Mon, 10 Jun 24 04:02:11 PDT", utc(2024, 6, 10, 11, 2, 11)),
        ("Mon, 10 Jun 99 04:02:11 PST", utc(1999, 6, 10, 12, 2, 11)),
        ("Mon, 10 Jun 102 04:02:11 ut", utc(2002, 6, 10, 4, 2, 11)),
        ("Sun, 06-Nov-1994 08:49:37 GMT", utc(1994, 11, 6, 8, 49, 37)),
        ("  Mon,\t10  June 2024\n04:02:11  HST ", utc(2024, 6, 10, 14, 2, 11)),
        ("Thu, 13 Sept 2001 09:00:00 CEST", utc(2001, 9, 13, 7)),
        # ctime and what people write in America.
        ("Fri May  3 09:15:00 CEST 2002", utc(2002, 5, 3, 7, 15)),
        ("Fri May 03 09:15:00 UTC 2002", utc(2002, 5, 3, 9, 15)),
        ("May 3, 2002 9:15 AM EDT", utc(2002, 5, 3, 13, 15)),
        ("10 Jun 2024 12:05 am EST", utc(2024, 6, 10, 5, 5)),
        ("06/06/2024 12:05:01 P.M. EST", utc(2024, 6, 6, 17, 5, 1)),
        # What no clock shows.
        ("2016-12-31T23:59:60Z", utc(2017, 1, 1)),
        ("2016-12-31T23:59:60.7Z", utc(2017, 1, 1)),
        ("2024-06-10T24:00:00Z", utc(2024, 6, 11)),
        # The ends of what is believed.
        ("1900-01-01T00:00:00Z", utc(1900, 1, 1)),
        ("1899-12-31T23:59:59-01:00", utc(1900, 1, 1, 0, 59, 59)),
        ("2200-12-31T23:59:59Z", utc(2200, 12, 31, 23, 59, 59)),
    ],
)
def test_a_time_with_its_zone_means_the_same_everywhere(text, expected) -> None:
    assert parse_source_time(text, zone=None) == Moment(expected)
    assert parse_source_time(text, zone=CHICAGO, fold=1, day_first=True) == Moment(
        expected
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-06-10", utc(2024, 6, 9, 22)),
        ("2024-06-10 04:12", utc(2024, 6, 10, 2, 12)),
        ("2024-1-9 4:12:01", utc(2024, 1, 9, 3, 12, 1)),
        ("2024.06.10 04:12", utc(2024, 6, 10, 2, 12)),
        ("20240610 041200", utc(2024, 6, 10, 2, 12)),
        ("Fri May 03 09:15:00 2002", utc(2002, 5, 3, 7, 15)),
        ("Fri, 3 May 2002 09:15", utc(2002, 5, 3, 7, 15)),
        ("3 May 2002", utc(2002, 5, 2, 22)),
        ("05/03/2002 09:15:00", utc(2002, 5, 3, 7, 15)),
        ("5-3-2002 09:15", utc(2002, 5, 3, 7, 15)),
        # Points are German, and the day leads.
        ("13.09.2001", utc(2001, 9, 12, 22)),
        ("03.05.2002, 09:15", utc(2002, 5, 3, 7, 15)),
    ],
)
def test_a_time_without_a_zone_is_read_in_that_of_its_source(text, expected) -> None:
    assert parse_source_time(text, zone=BERLIN) == Moment(expected)
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(text, zone=None)
    assert caught.value.reason == "naive_time"


def test_day_or_month_comes_first_as_the_source_says_and_never_by_guess() -> None:
    assert parse_source_time("03/05/2002", zone="UTC").at == utc(2002, 3, 5)
    assert parse_source_time("03/05/2002", zone="UTC", day_first=True).at == utc(
        2002, 5, 3
    )
    assert parse_source_time("13/09/2001", zone="UTC", day_first=True).at == utc(
        2001, 9, 13
    )
    # Read the other way round, half of a file would be wrong and nobody told.
    with pytest.raises(MalformedEntryError):
        parse_source_time("13/09/2001", zone="UTC")
    with pytest.raises(MalformedEntryError):
        parse_source_time("09/13/2001", zone="UTC", day_first=True)


@pytest.mark.parametrize(
    ("text", "zone", "fold", "expected", "flag"),
    [
        # The clocks go back: 02:30 comes twice.
        ("2024-10-27 02:30", BERLIN, 0, utc(2024, 10, 27, 0, 30), "time_ambiguous"),
        ("2024-10-27 02:30", BERLIN, 1, utc(2024, 10, 27, 1, 30), "time_ambiguous"),
        ("11/03/2024 01:30:00", CHICAGO, 0, utc(2024, 11, 3, 6, 30), "time_ambiguous"),
        ("11/03/2024 01:30:00", CHICAGO, 1, utc(2024, 11, 3, 7, 30), "time_ambiguous"),
        # They go forward: 02:30 never comes, and is 03:30.
        ("2024-03-31 02:30", BERLIN, 0, utc(2024, 3, 31, 1, 30), "time_nonexistent"),
        ("2024-03-31 02:30", BERLIN, 1, utc(2024, 3, 31, 1, 30), "time_nonexistent"),
        (
            "Sun Mar 10 02:30:00 2024",
            CHICAGO,
            1,
            utc(2024, 3, 10, 8, 30),
            "time_nonexistent",
        ),
        # A zone that nobody knows is the source's, or UTC.
        ("Mon, 10 Jun 2024 04:02 XYZ", BERLIN, 0, utc(2024, 6, 10, 2, 2), "no_zone"),
        ("Mon, 10 Jun 2024 04:02 XYZ", None, 0, utc(2024, 6, 10, 4, 2), "no_zone"),
        ("Mon, 10 Jun 2024 04:02 +9900", BERLIN, 0, utc(2024, 6, 10, 2, 2), "no_zone"),
        (
            "Mon, 10 Jun 2024 04:02 Mitternacht",
            None,
            0,
            utc(2024, 6, 10, 4, 2),
            "no_zone",
        ),
    ],
)
def test_what_is_odd_about_a_time_is_flagged(text, zone, fold, expected, flag) -> None:
    assert parse_source_time(text, zone=zone, fold=fold) == Moment(expected, (flag,))


@pytest.mark.parametrize(
    "text", ["2024-10-27 01:59", "2024-10-27 03:00", "2024-03-31 03:00"]
)
def test_beside_a_change_of_clocks_nothing_is_odd(text: str) -> None:
    assert parse_source_time(text, zone=BERLIN).flags == ()


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0, None, utc(1970, 1, 1)),
        (-1, None, utc(1969, 12, 31, 23, 59, 59)),
        (1_718_000_000, None, utc(2024, 6, 10, 6, 13, 20)),
        (1_718_000_000.25, None, utc(2024, 6, 10, 6, 13, 20, 250_000)),
        (1_718_000_000.123, None, utc(2024, 6, 10, 6, 13, 20, 123_000)),
        (1_718_000_000_123, None, utc(2024, 6, 10, 6, 13, 20, 123_000)),
        (Decimal("1718000000.000001"), None, utc(2024, 6, 10, 6, 13, 20, 1)),
        ("1718000000", None, utc(2024, 6, 10, 6, 13, 20)),
        (" 1718000000123 ", None, utc(2024, 6, 10, 6, 13, 20, 123_000)),
        # Seconds and nanoseconds, as old Olog data has them.
        ("1718000000.123456789", None, utc(2024, 6, 10, 6, 13, 20, 123_456)),
        ("1718000000,5", None, utc(2024, 6, 10, 6, 13, 20, 500_000)),
        # From 1e11 on it counts milliseconds, and a unit overrides that.
        (99_999_999_999, "ms", utc(1973, 3, 3, 9, 46, 39, 999_000)),
        (100_000_000_000, None, utc(1973, 3, 3, 9, 46, 40)),
        (7_000_000_000, "s", utc(2191, 10, 27, 12, 26, 40)),
        ("1718", "ms", utc(1970, 1, 1, 0, 0, 1, 718_000)),
        (-2_208_988_800, None, utc(1900, 1, 1)),
    ],
)
def test_numbers_count_from_1970(value: Any, unit: Any, expected: datetime) -> None:
    assert parse_source_time(value, zone=None, unit=unit) == Moment(expected)


@pytest.mark.parametrize("value", ["20240610", " 20240610 ", 20_240_610])
def test_eight_digits_are_a_date_of_the_source(value: Any) -> None:
    assert parse_source_time(value, zone=BERLIN).at == utc(2024, 6, 9, 22)
    assert parse_source_time(value, zone="UTC", unit="s").at == utc(
        1970, 8, 23, 6, 23, 30
    )
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(value, zone=None)
    assert caught.value.reason == "naive_time"


@pytest.mark.parametrize(
    "text", ["2024", "12", "0", "+1", "20241310", "17180000", "1718.5", "+20240610"]
)
def test_a_string_of_few_digits_is_no_epoch(text: str) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(text, zone="UTC")
    assert caught.value.reason == "time_unreadable"
    assert parse_source_time(text, zone=None, unit="s").at.year == 1970


def test_what_a_database_driver_returns_is_taken_as_it_is() -> None:
    east = timezone(timedelta(hours=2))
    assert parse_source_time(
        datetime(2024, 6, 10, 4, tzinfo=east), zone=None
    ).at == utc(2024, 6, 10, 2)
    naive = datetime(2024, 10, 27, 2, 30)  # noqa: DTZ001 - as drivers return them
    assert parse_source_time(naive, zone=BERLIN).flags == ("time_ambiguous",)
    again = naive.replace(tzinfo=ZoneInfo(BERLIN), fold=1)
    assert parse_source_time(again, zone=CHICAGO) == Moment(utc(2024, 10, 27, 1, 30))
    assert parse_source_time(date(2024, 6, 10), zone=BERLIN).at == utc(2024, 6, 9, 22)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("10.06.24 14h05", "%d.%m.%y %Hh%M", utc(2024, 6, 10, 12, 5)),
        ("20240610", "%Y%m%d", utc(2024, 6, 9, 22)),
        ("06/10/2024 14:05 +0000", "%m/%d/%Y %H:%M %z", utc(2024, 6, 10, 14, 5)),
        # Beside the pattern only what cannot be mistaken is read.
        ("2024-06-10T14:05:00Z", "%d/%m/%Y", utc(2024, 6, 10, 14, 5)),
        # A pattern that takes the zone for a letter moves nothing.
        ("2024-06-10T14:05:00Z", "%Y-%m-%dT%H:%M:%SZ", utc(2024, 6, 10, 14, 5)),
    ],
)
def test_a_source_names_the_patterns_of_its_times(text, pattern, expected) -> None:
    assert parse_source_time(text, zone=BERLIN, formats=("%%", pattern)).at == expected


@pytest.mark.parametrize("text", ["09/13/2001", "1718000000"])
def test_what_a_pattern_refuses_is_not_read_another_way(text: str) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(text, zone="UTC", formats=("%d/%m/%Y", "%Y %Y", "%"))
    assert caught.value.reason == "time_unreadable"


@pytest.mark.parametrize(
    "value",
    [
        *("1899-12-31T23:59:59Z", "2201-01-01", "9999-12-31T23:59:59Z"),
        *("0001-01-01T00:00:00Z", "0000-00-00 00:00:00", "294277-01-01T00:00:00Z"),
        *("+12000-01-01T00:00:00Z", "-0044-03-15", "2200-12-31T23:59:60Z"),
        *("1900-01-01T00:00:00+14:00", "Fri May 03 09:15:00 1066", "01/01/0000"),
        *(10**15, -(10**13), 10**400, 1e300, -1e300, Decimal("1e999999")),
        *(
            "9" * 90,
            "1718000000123456",
            datetime(1, 1, 1, tzinfo=UTC),
            date(9999, 1, 1),
        ),
        datetime(2200, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))),
    ],
)
def test_a_year_that_nobody_meant_is_out_of_range(value: Any) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(value, zone="UTC")
    assert caught.value.reason == "time_out_of_range"


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "yesterday", "now", "None", "12:30", "2024-06-10 hours"),
        *("2024-02-30", "2024-13-01"),
        *("2024-06-10T25:00:00Z", "2024-06-10T24:00:01Z", "2024-06-10T04:12:61Z"),
        *("2024-06-10 13:05 PM", "31 Jux 2024 10:00", "\u0662\u0660\u0662\u0664-06-10"),
        *("2024-06-10T04:12:00Z\x00", "\ud800", "1e9", "nan", "0x10", "1_000"),
        *(float("nan"), float("inf"), float("-inf"), Decimal("sNaN"), Decimal("NaN")),
        *(True, None, {}, [], (), b"2024-06-10", object(), {"timestamp": 1}),
    ],
)
def test_what_is_no_time_is_unreadable(value: Any) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        parse_source_time(value, zone="UTC")
    assert caught.value.reason == "time_unreadable"
    caught.value.message.encode("ascii")
    assert "\x00" not in caught.value.message


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "text",
    [
        *("a" * 50_000 + "!", "1" * 50_000 + "!", " " * 50_000, "(" * 50_000),
        *("2024-06-10 " + "-" * 50_000, "Mon, " * 12_500, "1." * 25_000),
        *("a " * 49 + "!", "1" * 99 + "!", "Mon, May " + "1 " * 45),
        *("2024-06-10 10:00 " + "a-" * 41, "10 May 2024 " + "(" * 80, "+" * 99),
    ],
)
def test_a_hostile_text_costs_next_to_nothing(text: str) -> None:
    def read(text: str) -> None:
        for pattern in ((), ("%d.%m.%Y %H:%M",)):
            with pytest.raises(MalformedEntryError):
                parse_source_time(text, zone="UTC", formats=pattern)

    assert_linear(read, text)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_nearly = st.from_regex(
    r"\A(Mon, )?[0-9]{1,4}[-/. ]([0-9]{1,2}|May)[-/. ][0-9]{1,4}"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)?( ?(Z|[+-][0-9]{2,4}|PM|EST))?\Z"
)


@given(_anything | _nearly | st.decimals(), st.sampled_from([None, BERLIN, "UTC"]))
def test_anything_is_a_moment_or_is_refused_with_its_reason(value, zone) -> None:
    reasons = ("time_unreadable", "time_out_of_range", "naive_time")
    moment = None
    try:
        moment = parse_source_time(value, zone=zone)
    except MalformedEntryError as refused:
        reason = refused.reason
    assert moment or reason in reasons
    assert moment is None or moment.at.tzinfo is UTC
    assert moment is None or 1900 <= moment.at.year <= 2200


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 12, 31)))  # noqa: DTZ001
def test_what_we_write_ourselves_is_read_as_what_it_was(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    assert parse_source_time(aware.isoformat(), zone=None).at == aware
    seconds = aware.replace(microsecond=0)
    assert (
        parse_source_time(seconds.strftime("%a, %d %b %Y %H:%M:%S +0000"), zone=None).at
        == seconds
    )
