"""Times on pages: the facility's clock with its zone, UTC beside it."""

from datetime import UTC, datetime, time

import pytest

from api.entries.shift_times import group_by_shift
from api.web.clock_times import ClockTimes
from shared.settings.settings import Settings
from shared.times.calendar import Clock

ZURICH = ClockTimes.of(Settings(facility_timezone="Europe/Zurich"))


@pytest.mark.requirement("U29")
@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("2026-03-29T00:30:00Z", "2026-03-29 01:30 CET (00:30 UTC)"),
        # An hour later the clocks have gone from two to three.
        ("2026-03-29T01:30:00Z", "2026-03-29 03:30 CEST (01:30 UTC)"),
        # And in autumn half past two comes twice.
        ("2026-10-25T00:30:00Z", "2026-10-25 02:30 CEST (00:30 UTC)"),
        ("2026-10-25T01:30:00Z", "2026-10-25 02:30 CET (01:30 UTC)"),
        ("2026-07-01T23:30:00Z", "2026-07-02 01:30 CEST (07-01 23:30 UTC)"),
    ],
)
def test_a_time_has_its_zone_and_utc_beside_it(moment: str, shown: str) -> None:
    assert ZURICH.full(moment) == shown
    # Programs read UTC alone.
    assert ZURICH.machine(moment) == moment


@pytest.mark.requirement("U29")
def test_a_night_of_an_observatory_is_one_day_on_the_first_page() -> None:
    clock = Clock(datetime(2026, 3, 2, tzinfo=UTC), "Europe/Zurich", time(12))
    moments = (
        "03-01T10:59",
        "03-01T03:00",
        "02-28T23:30",
        "02-28T11:00",
        "02-28T10:59",
    )
    entries = [{"entry_time": f"2026-{one}:00+00:00"} for one in moments]

    groups = group_by_shift(entries, clock)

    assert [(one.name, len(one.entries)) for one in groups] == [
        ("Saturday 28 February 2026", 4),
        ("Friday 27 February 2026", 1),
    ]
