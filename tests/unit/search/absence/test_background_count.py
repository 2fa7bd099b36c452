"""What cannot be counted in the time of an answer is counted beside it."""

import threading
from collections.abc import Callable

import pytest

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.postgres.count_cache import MANY_ROWS
from shared.search.absence.background_count import (
    FACTOR,
    LONG_SECONDS,
    MOST_SECONDS_OLD,
    REST_SECONDS,
    AgedCount,
    Overtime,
)

IN_TIME = 0.15
MANY = 1_000_000


class Counting:
    """A count that takes so long, on a clock of its own."""

    def __init__(self, took: float, rows: int = MANY) -> None:
        self.now = 0.0
        self.took, self.rows = took, rows
        self.given: list[float] = []
        self.beside: list[Callable[[], None]] = []
        self.overtime: Overtime[int] = Overtime(
            float, lambda: self.now, self.beside.append
        )

    def __call__(self, seconds: float) -> int:
        self.given.append(seconds)
        self.now += min(self.took, seconds)
        if self.took > seconds:
            raise DatabaseQueryError(technical="canceled")
        return self.rows

    def get(self, key: str = "all") -> AgedCount[int] | None:
        return self.overtime.get(key, self, IN_TIME)


def test_few_are_counted_anew_each_time_and_many_as_often_as_their_price_allows():
    few = Counting(0.1, MANY_ROWS)
    assert [few.get(), few.get()] == [AgedCount(MANY_ROWS), AgedCount(MANY_ROWS)]
    assert few.given == [IN_TIME, IN_TIME]

    many = Counting(0.1)
    assert many.get() == AgedCount(MANY)
    many.now += 0.1 * FACTOR - 0.5
    again = many.get()
    assert again is not None
    assert again.found == MANY
    assert again.age == pytest.approx(0.1 * FACTOR - 0.5)
    many.now += 0.5
    assert many.get() == AgedCount(MANY)
    assert many.given == [IN_TIME, IN_TIME]


def test_what_was_late_once_is_waited_for_no_more_and_counted_beside():
    count = Counting(2.0)
    assert count.get() is None
    assert (count.given, count.now) == ([IN_TIME], IN_TIME)
    assert count.get() is None
    assert (count.given, len(count.beside)) == ([IN_TIME], 1)

    count.beside.pop()()
    assert count.given == [IN_TIME, LONG_SECONDS]
    assert count.get() == AgedCount(MANY, 0.0)
    count.now += 2 * FACTOR + 1
    # It is told with its age, and another one begins.
    assert count.get() == AgedCount(MANY, 2 * FACTOR + 1)
    count.rows += 1
    count.beside.pop()()
    assert count.get() == AgedCount(MANY + 1, 0.0)
    assert len(count.given) == 3


def test_one_that_is_quick_by_now_is_waited_for_again():
    count = Counting(2.0)
    assert count.get() is None
    count.took = 0.01
    count.beside.pop()()
    count.now += 0.01 * FACTOR + 0.1
    assert count.get() == AgedCount(MANY, 0.0)
    assert (count.given[-1], count.beside) == (IN_TIME, [])


def test_with_little_time_left_nothing_is_called_late():
    count = Counting(0.1)
    assert count.overtime.get("all", count, IN_TIME, left=0.05) is None
    # It goes on, and whoever has time waits for it as ever.
    assert len(count.beside) == 1
    assert count.get() == AgedCount(MANY)


def test_few_that_were_late_once_are_waited_for_again():
    count = Counting(0.3, rows=800)
    assert count.get() is None
    count.beside.pop()()
    assert count.get() == AgedCount(800, 0.0)
    count.now += 0.3 * FACTOR + 1
    count.took, count.rows = 0.005, 801
    assert count.get() == AgedCount(801)
    assert (count.get(), count.beside) == (AgedCount(801), [])


def test_where_no_thread_can_be_had_the_answer_goes_without():
    tried: list[object] = []

    def beside(count: Callable[[], None]) -> None:
        tried.append(count)
        raise RuntimeError("can't start new thread")

    overtime: Overtime[int] = Overtime(float, beside=beside)

    def count(_: float) -> int:
        raise DatabaseQueryError(technical="canceled")

    assert overtime.get("all", count, IN_TIME) is None
    assert overtime.get("all", count, IN_TIME) is None
    assert len(tried) == 2


def test_one_thing_is_counted_beside_at_a_time():
    count = Counting(2.0)
    assert (count.get("one"), count.get("other")) == (None, None)
    assert len(count.beside) == 1
    count.beside.pop()()
    assert count.get("one") == AgedCount(MANY, 0.0)
    assert count.get("other") is None
    count.beside.pop()()
    assert count.get("other") == AgedCount(MANY, 0.0)


def test_what_is_never_through_rests_and_what_was_counted_last_ages():
    count = Counting(2.0)
    assert count.get() is None
    count.beside.pop()()
    count.now += 2 * FACTOR
    assert count.get() == AgedCount(MANY, 2 * FACTOR)
    count.took = LONG_SECONDS + 1
    count.beside.pop()()
    told = count.get()
    assert told == AgedCount(MANY, 2 * FACTOR + LONG_SECONDS)
    assert count.beside == []

    count.now += REST_SECONDS
    assert count.get() is not None
    assert len(count.beside) == 1
    count.now += MOST_SECONDS_OLD
    assert count.get() is None


def test_where_there_is_no_connection_nothing_goes_on():
    beside: list[Callable[[], None]] = []
    overtime: Overtime[int] = Overtime(float, beside=beside.append)

    def count(_: float) -> int:
        raise DatabaseConnectionError(technical="gone")

    with pytest.raises(DatabaseConnectionError):
        overtime.get("all", count, IN_TIME)
    assert beside == []


def test_it_goes_on_in_a_thread_and_a_failure_there_ends_with_it():
    overtime: Overtime[int] = Overtime(float)
    through = threading.Event()
    here = threading.get_ident()

    def count(_: float) -> int:
        if threading.get_ident() != here:
            through.set()
        raise DatabaseQueryError(technical="canceled")

    assert overtime.get("all", count, IN_TIME) is None
    assert through.wait(10)
    assert overtime.get("all", count, IN_TIME) is None
