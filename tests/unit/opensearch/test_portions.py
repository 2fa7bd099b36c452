"""What a worker holds of the documents to be written, and when it reads the next."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ids import uuid7
from shared.opensearch import portions
from shared.opensearch.portions import Sized

SIZES = st.integers(0, 2 * portions.MOST_BYTES)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), SIZES), max_size=40)


@given(ROWS, st.integers(1, 9))
def test_a_portion_is_of_one_facility_and_never_more_than_may_be_held(found, most):
    rows = [Sized(uuid7(), tenant, size) for tenant, size in found]
    of = {row.id: row for row in rows}

    cut = list(portions.cut(rows, most=most))

    assert sorted(one for _, ids in cut for one in ids) == sorted(of)
    for tenant, ids in cut:
        assert {of[one].tenant for one in ids} == {tenant}
        assert 1 <= len(ids) <= most
        whole = sum(of[one].size for one in ids)
        assert whole <= portions.MOST_BYTES or len(ids) == 1


def test_the_next_portion_is_read_while_the_one_before_is_written():
    is_read = threading.Event()

    def read() -> Iterator[int]:
        yield 1
        is_read.set()
        yield 2

    def write(one: int) -> tuple[int, bool]:
        return one, is_read.wait(10)

    answers = [answer for _, answer in portions.use_beside(read(), write)]
    assert answers == [(1, True), (2, True)]
    assert list(portions.use_beside([], write)) == []


def test_a_portion_is_taken_while_the_next_is_written():
    is_taken = threading.Event()

    def write(one: int) -> bool:
        return one == 1 or is_taken.wait(10)

    answers = []
    for one, answer in portions.use_beside(iter([1, 2]), write):
        is_taken.set()
        answers.append((one, answer))
    assert answers == [(1, True), (2, True)]


def test_whoever_stops_taking_leaves_no_thread_behind():
    before = threading.enumerate()
    taken: list[int] = []
    with closing(portions.use_beside(iter([1, 2, 3]), taken.append)) as used:
        assert next(used) == (1, None)
    assert taken == [1, 2]
    assert threading.enumerate() == before


def test_a_portion_that_cannot_be_read_is_the_readers_failure():
    def read() -> Iterator[int]:
        yield 1
        raise ValueError("not this one")

    taken: list[int] = []
    with pytest.raises(ValueError, match="not this one"):
        list(portions.use_beside(read(), taken.append))
    assert taken == [1]


def test_a_process_with_no_memory_for_a_thread_says_that_it_has_none(monkeypatch):
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    with pytest.raises(MemoryError):
        list(portions.use_beside([1, 2], str))


def test_behind_a_portion_that_cannot_be_written_none_is():
    taken: list[int] = []

    def write(one: int) -> None:
        taken.append(one)
        raise ValueError("not this one")

    with pytest.raises(ValueError, match="not this one"):
        list(portions.use_beside(iter([1, 2, 3]), write))
    assert taken == [1]


@pytest.mark.requirement("F5")
def test_a_time_limit_ends_a_reading_that_hangs_and_no_thread_is_left():
    class LimitError(Exception):
        """What the limit of a task raises in its own thread, by a signal."""

    def limit(*_: object) -> None:
        raise LimitError

    hangs, never, ended = threading.Event(), threading.Event(), []

    def read() -> Iterator[int]:
        yield 1
        hangs.set()
        # In short waits: a thread is ended where it is back in Python.
        ended.append(any(never.wait(0.05) for _ in range(200)))

    def write(_: int) -> None:
        assert hangs.wait(10)
        os.kill(os.getpid(), signal.SIGUSR1)

    before, threads = signal.signal(signal.SIGUSR1, limit), threading.enumerate()
    try:
        with pytest.raises(LimitError):
            list(portions.use_beside(read(), write))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended == []
    assert threading.enumerate() == threads
