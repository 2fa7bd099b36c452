"""When an alert is sent, on the facility's clock."""

from datetime import UTC, datetime

import pytest

from shared.times.calendar import Clock
from shared.times.shifts import Shift, plan
from shared.watch.find_alerts import find_due_time
from shared.watch.saved_searches import AlertRule, Digest

ZONE = "Europe/Berlin"
SHIFTS = plan(
    [
        Shift(name="day", begins="06:00"),
        Shift(name="late", begins="14:00"),
        Shift(name="owl", begins="22:00"),
    ],
    ZONE,
)


def due(
    hour: int,
    digest: Digest = "none",
    quiet: tuple[str, str] | None = None,
    *,
    with_shifts: bool = True,
) -> str:
    # Berlin is two hours ahead of UTC in June.
    now = datetime(2026, 6, 10, hour - 2, 30, tzinfo=UTC)
    clock = Clock(now=now, zone=ZONE)
    if with_shifts:
        clock = Clock(now=now, zone=ZONE, shifts=SHIFTS)
    rule = AlertRule(
        enabled=True, webhook_url="https://x.y", digest=digest, quiet_hours=quiet
    )
    found = find_due_time(rule, clock)
    assert found is not None
    return found.strftime("%d %H:%M")


@pytest.mark.requirement("I08")
@pytest.mark.parametrize(
    ("hour", "digest", "quiet", "told"),
    [
        (10, "none", None, "10 08:30"),
        (10, "shift", None, "10 12:00"),
        (23, "shift", None, "11 04:00"),
        (10, "day", None, "10 22:00"),
        (23, "none", ("22:00", "06:00"), "11 04:00"),
        (5, "none", ("22:00", "06:00"), "10 04:00"),
        (6, "none", ("22:00", "06:00"), "10 04:30"),
        (12, "none", ("12:00", "13:00"), "10 11:00"),
        # The shift ends in quiet hours.
        (20, "shift", ("21:00", "07:00"), "11 05:00"),
    ],
)
def test_an_alert_is_due(hour, digest, quiet, told) -> None:
    assert due(hour, digest, quiet) == told


def test_without_a_plan_of_shifts_a_shift_is_a_day() -> None:
    assert due(10, "shift", with_shifts=False) == "10 22:00"


def test_what_goes_nowhere_is_never_due() -> None:
    clock = Clock(now=datetime(2026, 6, 10, tzinfo=UTC))
    assert find_due_time(AlertRule(enabled=True), clock) is None
