"""How long ago something was is told in the unit that fits."""

from datetime import UTC, datetime, timedelta

import pytest

from api.cli.source import findings


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s ago"),
        (119, "119 s ago"),
        (120, "2 min ago"),
        (7_199, "120 min ago"),
        (7_200, "2 h ago"),
        (172_800, "2 d ago"),
        (-28_800, "in 8 h"),
    ],
)
def test_the_unit_is_the_largest_of_which_there_are_two(seconds, told):
    assert findings.ago(seconds) == told


def test_a_time_is_told_as_the_logbook_shows_it_with_its_distance():
    time = datetime.now(UTC) - timedelta(minutes=5, seconds=1)
    there = time + timedelta(hours=9)
    assert findings.when(time, None) == f"{time:%Y-%m-%d %H:%M} UTC (5 min ago)"
    told = findings.when(time, "Asia/Tokyo")
    assert told == f"{there:%Y-%m-%d %H:%M} JST (5 min ago)"
