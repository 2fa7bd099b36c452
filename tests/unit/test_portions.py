"""What a worker holds of the documents to be written, and when it reads the next."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.opensearch import portions
from shared.opensearch.portions import Beside, Sized
from shared.uuid7 import uuid7

Use = Callable[[int], object]
Answers = list[tuple[int, object]]
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


def use(beside: Beside[Any], answers: Answers, number: int, using: Use) -> None:
    """Use one portion, and remember its answer once it is told."""

    def then(answer: Future[object]) -> None:
        answers.append((number, answer.exception() or answer.result()))

    beside.use(functools.partial(using, number), then)


def test_the_next_portion_is_made_while_the_one_before_is_used():
    is_made = threading.Event()
    answers: Answers = []
    with Beside[Any]() as beside:
        use(beside, answers, 1, lambda _: is_made.wait(10))
        is_made.set()
        use(beside, answers, 2, lambda _: is_made.wait(10))
        beside.wait()
        beside.wait()
    assert answers == [(1, True), (2, True)]


def test_what_came_of_a_portion_is_told_while_the_next_is_used():
    is_told = threading.Event()
    answers: Answers = []
    with Beside[Any]() as beside:
        beside.use(lambda: 1, lambda _: is_told.set())
        use(beside, answers, 2, lambda _: is_told.wait(10))
        beside.wait()
    assert answers == [(2, True)]


def test_whoever_goes_leaves_no_thread_behind_and_is_told_no_more():
    before = threading.enumerate()
    answers: Answers = []
    taken: list[int] = []
    with Beside[Any]() as beside:
        use(beside, answers, 1, taken.append)
        use(beside, answers, 2, taken.append)
    assert taken == [1, 2]
    assert answers == [(1, None)]
    assert threading.enumerate() == before


def test_a_portion_that_fails_says_so_and_the_next_is_used_all_the_same():
    answers: Answers = []

    def fail_at_one(number: int) -> int:
        if number == 1:
            raise ValueError("not this one")
        return number

    with Beside[Any]() as beside:
        use(beside, answers, 1, fail_at_one)
        use(beside, answers, 2, fail_at_one)
        beside.wait()

    (_, first), second = answers
    assert isinstance(first, ValueError)
    assert second == (2, 2)


def test_whoever_cannot_bear_an_answer_is_told_each_but_once():
    told: list[int] = []

    def then(answer: Future[int]) -> None:
        told.append(answer.result())
        raise ValueError("not this one")

    with Beside[int]() as beside:
        beside.use(lambda: 1, then)
        with pytest.raises(ValueError, match="not this one"):
            beside.use(lambda: 2, then)
        with pytest.raises(ValueError, match="not this one"):
            beside.wait()
        beside.wait()
    assert told == [1, 2]


def test_a_process_with_no_memory_for_a_thread_says_that_it_has_none(monkeypatch):
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    with Beside[int]() as beside, pytest.raises(MemoryError):
        beside.use(lambda: 1, lambda _: None)


class LimitError(Exception):
    """What the limit of a task raises in its own thread, by a signal."""


@pytest.fixture
def limited() -> Iterator[Callable[[], None]]:
    """What lets the limit be over, from whichever thread."""

    def limit(*_: object) -> None:
        raise LimitError

    before = signal.signal(signal.SIGUSR1, limit)
    yield lambda: os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.requirement("F5")
def test_a_time_limit_ends_a_reading_that_hangs_and_no_thread_is_left(limited):
    threads = threading.enumerate()
    hangs, never, ended = threading.Event(), threading.Event(), []

    def write() -> None:
        assert hangs.wait(10)
        limited()

    def read() -> None:
        hangs.set()
        ended.append(never.wait(10))

    with Beside[None]() as beside:
        beside.use(write, lambda _: None)
        with pytest.raises(LimitError):
            read()
    assert ended == []
    assert threading.enumerate() == threads


@pytest.mark.requirement("F5")
def test_what_a_time_limit_does_not_wait_for_is_told_later(limited):
    is_waited_for, is_over = threading.Event(), threading.Event()
    answers: Answers = []

    def write(number: int) -> int:
        assert is_waited_for.wait(10)
        limited()
        assert is_over.wait(10)
        return number

    def wait() -> None:
        is_waited_for.set()
        beside.wait()

    with Beside[Any]() as beside:
        use(beside, answers, 1, write)
        with pytest.raises(LimitError):
            wait()
        is_over.set()
        beside.wait()
    assert answers == [(1, 1)]
