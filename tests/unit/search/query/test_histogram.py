"""Buckets of time: few enough, without gaps, and by the facility's own days."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query.histogram import MAX_BUCKETS, buckets
from shared.times.calendar import Clock

MOMENTS = st.integers(-2_208_902_400, 7_289_481_600).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
NEAR = st.builds(
    lambda first, seconds: (first, first + timedelta(seconds=seconds)),
    MOMENTS.filter(lambda moment: moment.year < 2198),
    st.integers(0, 40_000_000),
)
FAR = st.tuples(MOMENTS, MOMENTS).map(lambda two: (min(two), max(two)))
CLOCKS = st.builds(
    Clock,
    zone=st.sampled_from(["UTC", "Europe/Zurich", "Asia/Kathmandu", "Pacific/Apia"]),
    day_starts=st.sampled_from([time(), time(12), time(6, 30)]),
)


@given(NEAR | FAR, CLOCKS)
def test_every_time_lies_in_one_of_sixty_buckets_at_most(ends, clock) -> None:
    first, last = ends
    found = buckets(first, last, clock)
    assert 1 <= len(found.spans) <= MAX_BUCKETS
    assert list(found.edges) == sorted(set(found.edges))
    assert found.edges[0] <= first < found.edges[1]
    assert found.edges[-2] <= last < found.edges[-1]


@pytest.mark.parametrize(
    ("days", "interval"),
    [(0, "minute"), (0.5, "15 minutes"), (2, "hour"), (6, "3 hours"), (30, "day")],
)
def test_the_finest_interval_that_fits_is_taken(days: float, interval: str) -> None:
    first = datetime(2026, 3, 2, 8, 12, tzinfo=UTC)
    assert buckets(first, first + timedelta(days=days), Clock()).interval == interval


@pytest.mark.requirement("U29")
def test_a_day_begins_when_the_facility_says_also_when_clocks_change() -> None:
    clock = Clock(zone="Europe/Zurich", day_starts=time(12))
    first = datetime(2026, 3, 20, 3, tzinfo=UTC)
    found = buckets(first, first + timedelta(days=40), clock)
    walls = {one.astimezone(ZoneInfo(clock.zone)).time() for one in found.edges}
    assert (found.interval, walls) == ("day", {time(12)})
    lengths = {until - since for since, until in found.spans}
    assert lengths == {timedelta(hours=24), timedelta(hours=23)}
