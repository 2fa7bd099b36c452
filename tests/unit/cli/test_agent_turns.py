"""A turn of an agent as a terminal tells it, and `logchord ask --debug` as it ends."""

import io
import json
import sys

import httpx2
import pytest

from api.cli import output
from api.cli.search import agent_turns, ask

CALL = {
    "tool": "keyword",
    "args": {"query": "RF trip"},
    "status": "ok",
    "results_found": 3,
    "took_ms": 4.2,
    "repeated": False,
    "error_code": None,
}
TURN = {
    "turn": 1,
    "state": "done",
    "tool_calls": [CALL],
    "tokens_in": 30,
    "tokens_out": 10,
    "took_ms": 812.4,
    "repeated": 0,
    "exit_reason": None,
}


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (
            TURN,
            ["1", 'keyword("query": "RF trip"): 3 found', "30 + 10 tokens", "812 ms"],
        ),
        (
            {**TURN, "tool_calls": [{**CALL, "results_found": 0}]},
            ["1", 'keyword("query": "RF trip"): ok', "30 + 10 tokens", "812 ms"],
        ),
        (
            # Whoever may not see any more what it found is told no arguments.
            {**TURN, "tool_calls": [{**CALL, "args": None, "status": "empty"}]},
            ["1", "keyword(...): empty", "30 + 10 tokens", "812 ms"],
        ),
        (
            {
                **TURN,
                "tool_calls": [
                    {**CALL, "status": "error", "error_code": "not_found"},
                    {**CALL, "status": "repeated", "repeated": True},
                ],
                "repeated": 1,
            },
            [
                "1",
                'keyword("query": "RF trip"): not_found',
                'keyword("query": "RF trip"): repeated (the same as before)',
                "30 + 10 tokens",
                "812 ms",
                "taken up again once",
            ],
        ),
        (
            {**TURN, "tool_calls": [], "took_ms": None, "exit_reason": "deadline"},
            ["1", "no calls", "30 + 10 tokens", "ended: deadline"],
        ),
    ],
)
def test_a_turn_is_told_with_its_calls_and_its_cost(turn, told) -> None:
    assert agent_turns.tell(turn) == told


def test_what_a_model_asks_for_moves_no_cursor() -> None:
    call = {**CALL, "tool": "key\x1b[31mword", "error_code": "\x1b[2J"}
    turn = {**TURN, "tool_calls": [{**call, "status": "error"}]}
    assert "\x1b" not in "".join(agent_turns.tell(turn))


@pytest.mark.parametrize("debugs", [True, False])
def test_turns_are_told_as_they_end_where_that_is_asked_for(monkeypatch, *, debugs):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    events = [("agent_turn", TURN), ("done", {"state": "done"})]
    text = "".join(
        f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
        for number, (name, data) in enumerate(events, 1)
    )
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text=text))
    with httpx2.Client(base_url="http://there", transport=transport) as client:
        ask.show_words(client, "7", output.Output() if debugs else None)
    assert ("keyword(" in shown.getvalue()) is debugs
    assert bool(shown.getvalue()) is debugs
