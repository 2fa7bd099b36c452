"""What is dear to count is counted less often; what is cheap, each time."""

from __future__ import annotations

import pytest

from api import backlog
from api.sparing import Sparing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_cheap_answer_is_found_anew_each_time():
    clock, found = Clock(), iter(range(10))
    sparing: Sparing[int] = Sparing(clock)

    assert [sparing.get("a", lambda: next(found)) for _ in range(3)] == [0, 1, 2]


def test_a_dear_answer_is_given_for_twenty_times_as_long_as_it_took():
    clock, found = Clock(), iter(range(10))
    sparing: Sparing[int] = Sparing(clock)

    def dear() -> int:
        clock.now += 1.0
        return next(found)

    assert sparing.get("a", dear) == 0
    clock.now += 19.9
    assert sparing.get("a", dear) == 0
    assert sparing.get("b", dear) == 1
    clock.now += 20.0
    assert sparing.get("a", dear) == 2


@pytest.mark.parametrize(
    ("took", "pause"), [(0.0, 1.0), (0.05, 1.0), (0.2, 4.0), (3.0, 10.0)]
)
def test_the_backlog_is_counted_more_rarely_when_that_takes_long(took, pause):
    assert backlog.pause_seconds(took) == pytest.approx(pause)
