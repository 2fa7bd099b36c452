"""What is dear to count is counted less often; what is cheap, each time."""

import itertools
from collections.abc import Callable

import pytest

from api.entries import push_backpressure
from shared.postgres.count_cache import MANY_ROWS, Sparing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counter(first: int) -> tuple[Clock, Sparing[int], Callable[[], int]]:
    """A clock, what spares, and a count that takes a second and grows by one."""
    clock, found = Clock(), itertools.count(first)

    def count() -> int:
        clock.now += 1.0
        return next(found)

    return clock, Sparing(lambda rows: rows, clock), count


def test_a_count_of_few_rows_is_found_anew_each_time_however_long_it_took():
    _, sparing, count = counter(MANY_ROWS - 2)

    few = [MANY_ROWS - 2, MANY_ROWS - 1, MANY_ROWS, MANY_ROWS + 1, MANY_ROWS + 1]
    assert [sparing.get("a", count) for _ in few] == few


def test_a_count_of_many_is_given_for_twenty_times_as_long_as_it_took():
    clock, sparing, count = counter(100_000)

    assert sparing.get("a", count) == 100_000
    clock.now += 19.9
    assert sparing.get("a", count) == 100_000
    assert sparing.get("b", count) == 100_001
    clock.now += 20.0
    assert sparing.get("a", count) == 100_002


@pytest.mark.parametrize(
    ("took", "pause"), [(0.0, 1.0), (0.05, 1.0), (0.2, 4.0), (3.0, 10.0)]
)
def test_the_backlog_is_counted_more_rarely_when_that_takes_long(took, pause):
    assert push_backpressure.pause_seconds(took) == pytest.approx(pause)
