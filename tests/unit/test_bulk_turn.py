"""Of a worker's children and threads one at a time does bulk work."""

from __future__ import annotations

import os
import threading

from shared.due.bulk_turn import BulkTurn

LONG, OVER = 60.0, 0.0


def in_thread(ask) -> bool:
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(ask()))
    asking.start()
    asking.join()
    return answers[0]


def test_whoever_has_the_turn_keeps_it_and_nobody_else_gets_it():
    turn = BulkTurn()

    assert turn.take(LONG)
    assert turn.take(LONG)
    assert not in_thread(lambda: turn.take(LONG))


def test_a_turn_given_back_is_free_and_anothers_cannot_be_given_back():
    turn = BulkTurn()
    turn.take(LONG)
    in_thread(turn.give_back)
    assert not in_thread(lambda: turn.take(LONG))

    turn.give_back()

    assert in_thread(lambda: turn.take(LONG))


def test_the_turn_of_the_dead_is_over_after_its_time():
    turn = BulkTurn()
    in_thread(lambda: turn.take(OVER))

    assert turn.take(LONG)


def test_a_child_sees_that_its_parent_has_the_turn():
    turn = BulkTurn()
    turn.take(LONG)

    child = os.fork()
    if child == 0:
        os._exit(int(turn.take(LONG)))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
