"""Whether the day or the month comes first is said of dates that do not tell it."""

from datetime import UTC, date, datetime

import pytest

from shared.times.date_orders import find_unsure_order


@pytest.mark.parametrize(
    "times",
    [
        (),
        ("2026-09-12", "12.09.2026", "12 Sep 2026", "yesterday", ""),
        # Both readings are the same day.
        ("09/09/2026",),
        # One date tells it of all, wherever it stands.
        ("12/09/2026", "09/13/2026"),
        ("09/13/2026", "12/09/2026"),
        # It is read in no way, and is told as that.
        ("13/09/2026",),
        ("00/09/2026", "09/00/2026", "12/09/0000"),
    ],
)
def test_of_dates_that_tell_it_nothing_is_said(times):
    assert find_unsure_order(times) is None


def test_a_date_that_may_be_either_is_told_with_both_readings():
    found = find_unsure_order(["2026-01-01", "12/09/2026 04:12", "11/10/2026"])
    assert found is not None
    assert found.text == "12/09/2026 04:12"
    assert (found.month_first, found.day_first) == (
        date(2026, 12, 9),
        date(2026, 9, 12),
    )
    assert "2026-12-09 or 2026-09-12, and no date" in found.describe()


def test_one_that_has_the_day_first_is_told_beside_it():
    found = find_unsure_order(["12/09/2026", "13/09/2026"])
    assert found is not None
    assert "while '13/09/2026' has the day first" in found.describe()


@pytest.mark.parametrize(
    "text",
    [
        "12/09/2026",
        "12-09-2026",
        "1/9/2026 04:12",
        "12/09/2026 04:12:59",
        "12/09/2026 04:12:59.25",
        "12/09/2026, 04:12",
        "12/09/2026T04:12:59",
        "12/09/2026 4:12 PM",
    ],
)
def test_the_codes_of_strptime_for_it_are_those_that_read_it(text):
    found = find_unsure_order([text])
    assert found is not None
    patterns = found.patterns()
    assert patterns is not None
    day_first, month_first = (
        datetime.strptime(text, one).replace(tzinfo=UTC) for one in patterns
    )
    assert day_first.date() == found.day_first
    assert month_first.date() == found.month_first
    assert day_first.time() == month_first.time()


def test_a_form_that_has_no_such_codes_gets_none():
    found = find_unsure_order(["12/09/2026 04:12 CEST (summer)"])
    assert found is not None
    assert found.patterns() is None
