"""The bounds of an agent: which one it comes to, and when."""

from dataclasses import replace
from typing import Any

import pytest

from shared.agents.bounds import Bounds, count_steps
from shared.agents.turn_rows import TurnRow

CALLED: list[dict[str, Any]] = [{"id": "c", "name": "keyword", "arguments": {}}]


def turn(number: int, *, again: int = 0, **fields: Any) -> TurnRow:
    row = TurnRow(
        turn_no=number,
        state="done",
        model_out={"again": again},
        calls=CALLED,
        outcomes={"0": {"status": "ok"}},
        tokens_in=10,
        tokens_out=5,
        repeated=0,
        took_ms=1.0,
        exit_reason=None,
    )
    return replace(row, **fields)


@pytest.mark.requirement("S0-70", "C23")
@pytest.mark.parametrize(
    ("words", "stops"),
    [
        # Four turns of a word and its call: eight steps.
        ((0, 0, 0, 0), None),
        # Two more words are ten, three more eleven.
        ((1, 1, 0, 0), None),
        ((1, 1, 1, 0), "step_guard"),
        ((1, 1, 1, 1), "step_guard"),
    ],
)
def test_the_guard_counts_words_and_calls(words, stops) -> None:
    bounds = Bounds()
    before = [turn(number, again=again) for number, again in enumerate(words, 1)]
    assert bounds.steps == 11
    assert count_steps(before) == 8 + sum(words)
    assert bounds.stop_before(before, 5) == stops


def test_tokens_that_are_spent_are_those_of_the_turn_at_hand_too() -> None:
    bounds = Bounds(tokens=45)
    spent = [turn(1), turn(2), turn(3, model_out=None, calls=[], outcomes={})]
    assert bounds.stop_before(spent, 3) == "token_budget"
    assert replace(bounds, tokens=46).stop_before(spent, 3) is None


def test_a_turn_that_a_fourth_worker_takes_up_asks_nobody() -> None:
    taken = [turn(1), turn(2, repeated=4, model_out=None, calls=[], outcomes={})]
    assert Bounds().stop_before(taken, 2) == "model_unavailable"
    fewer = [taken[0], replace(taken[1], repeated=3)]
    assert Bounds().stop_before(fewer, 2) is None
