"""Of a worker's children and threads one at a time has the turn."""

import os
import threading
from dataclasses import dataclass

import pytest

from shared.work.bulk_turn import Turn

LONG, OVER = 60.0, 0.0


def in_thread(ask) -> bool:
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(ask()))
    asking.start()
    asking.join()
    return answers[0]


def test_whoever_has_the_turn_keeps_it_and_nobody_else_gets_it():
    turn = Turn()

    assert turn.take(LONG)
    assert turn.take(LONG)
    assert not in_thread(lambda: turn.take(LONG))


def test_a_turn_given_back_is_free_and_anothers_cannot_be_given_back():
    turn = Turn()
    turn.take(LONG)
    in_thread(turn.give_back)
    assert not in_thread(lambda: turn.take(LONG))

    turn.give_back()

    assert in_thread(lambda: turn.take(LONG))


def test_the_turn_of_the_dead_is_over_after_its_time():
    turn = Turn()
    in_thread(lambda: turn.take(OVER))

    assert turn.take(LONG)


def test_who_is_dead_has_no_turn():
    turn = Turn()

    child = os.fork()
    if child == 0:
        os._exit(int(turn.take(LONG)))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert turn.take(LONG)


def test_a_child_sees_that_its_parent_has_the_turn():
    turn = Turn()
    turn.take(LONG)

    child = os.fork()
    if child == 0:
        os._exit(int(turn.take(LONG)))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_while_live_work_comes_in_bulk_work_has_a_twentieth_of_the_time(clock):
    turn = Turn()
    turn.take(LONG)
    turn.note_live()
    clock.now += 2
    turn.note_live()

    turn.give_back(used=True)

    for _ in range(75):
        clock.now += 0.5
        assert not turn.take(LONG)
        turn.note_live()
    clock.now += 0.6
    assert turn.take(LONG)


def test_bulk_work_goes_on_once_no_live_work_comes_in(clock):
    turn = Turn()
    turn.note_live()
    turn.take(LONG)
    clock.now += 0.5
    turn.give_back(used=True)
    assert not turn.take(LONG)

    clock.now += 0.6

    assert turn.take(LONG)


def test_a_turn_that_found_nothing_to_do_costs_no_rest(clock):
    turn = Turn()
    turn.note_live()
    turn.take(LONG)
    clock.now += 0.5

    turn.give_back()

    assert turn.take(LONG)


def test_who_notes_live_work_leaves_the_turn_as_it_is(clock, monkeypatch):
    turn = Turn()
    turn.take(LONG)

    def given_back_meanwhile() -> float:
        monkeypatch.setattr("shared.work.bulk_turn.time.monotonic", clock.monotonic)
        turn.give_back()
        return clock.monotonic()

    monkeypatch.setattr("shared.work.bulk_turn.time.monotonic", given_back_meanwhile)
    turn.note_live()

    assert in_thread(lambda: turn.take(LONG))


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("shared.work.bulk_turn.time.monotonic", made.monotonic)
    return made
