"""Times come in as one moment in UTC, or are refused by name."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidRequestError
from shared.times.rfc3339 import parse_time


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-03-02T05:10:00+01:00", None, datetime(2026, 3, 2, 4, 10, tzinfo=UTC)),
        ("2026-03-02 05:10Z", None, datetime(2026, 3, 2, 5, 10, tzinfo=UTC)),
        ("2026-03-02T05:10:00+14:00", None, datetime(2026, 3, 1, 15, 10, tzinfo=UTC)),
        (
            "2026-07-02T05:10:00",
            "Europe/Berlin",
            datetime(2026, 7, 2, 3, 10, tzinfo=UTC),
        ),
        ("2016-12-31T23:59:60Z", None, datetime(2017, 1, 1, tzinfo=UTC)),
        (
            "2026-03-02T05:10:00.1234567-0530",
            None,
            datetime(2026, 3, 2, 10, 40, 0, 123456, tzinfo=UTC),
        ),
        ("1900-01-01T00:00:00Z", None, datetime(1900, 1, 1, tzinfo=UTC)),
        ("2200-12-31T23:59:00Z", None, datetime(2200, 12, 31, 23, 59, tzinfo=UTC)),
        (
            "1899-12-31T23:59:59-01:00",
            None,
            datetime(1900, 1, 1, 0, 59, 59, tzinfo=UTC),
        ),
    ],
)
def test_a_time_becomes_the_moment_it_names(text, zone, expected) -> None:
    assert parse_time(text, "entry_time", zone=zone) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2026-03-02T05:10:00", "naive_time"),
        ("1899-12-31T23:59:59Z", "time_out_of_range"),
        ("1900-01-01T00:00:00+14:00", "time_out_of_range"),
        ("2201-01-01T00:00:00Z", "time_out_of_range"),
        ("2200-12-31T23:59:60Z", "time_out_of_range"),
        ("0000-01-01T00:00:00Z", "time_out_of_range"),
        ("9999-12-31T23:59:59-23:00", "time_out_of_range"),
        ("294277-01-01T00:00:00Z", "time_out_of_range"),
        ("+12000-01-01T00:00:00Z", "time_out_of_range"),
        ("2026-02-30T00:00:00Z", "validation_failed"),
        ("2026-03-02", "validation_failed"),
        ("2026-03-02T24:00:00Z", "validation_failed"),
        ("2026-03-02T05:10:61Z", "validation_failed"),
        ("2026-03-02T05:10:00+24:00", "validation_failed"),
        ("٢٠٢٦-03-02T05:10:00Z", "validation_failed"),
        ("yesterday", "validation_failed"),
        ("", "validation_failed"),
        ("1" * 50_000, "validation_failed"),
    ],
)
def test_a_time_that_cannot_be_placed_is_refused(text: str, code: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_time(text, "entry_time", zone=None)
    assert caught.value.error_code == code
    assert caught.value.status == 422
    assert caught.value.details["fields"][0]["path"] == "entry_time"


@given(st.text(max_size=60) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"))
def test_any_text_is_placed_or_refused(text: str) -> None:
    try:
        moment = parse_time(text, "entry_time", zone="Europe/Berlin")
    except InvalidRequestError:
        return
    assert moment.tzinfo is UTC
