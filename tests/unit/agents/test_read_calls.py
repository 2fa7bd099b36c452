"""What a model wants to have called, whichever way it says so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.agents.bounds import Bounds
from shared.agents.read_calls import (
    MOST_CALLS,
    MOST_CHARACTERS,
    MalformedCallError,
    read_calls,
)
from shared.language_models.completion import Completion, ToolCall

TOOLS = ("keyword", "semantic")
ASKED = {"tool": "keyword", "arguments": {"query": "klystron"}}


def said(text: str = "", *calls: ToolCall) -> Completion:
    return Completion(text, calls, "stop", 1, 1)


def test_a_native_call_is_taken_as_it_is() -> None:
    wanted = ToolCall("c1", "keyword", '{"query": "klystron"}')
    (one,), is_native = read_calls(said("", wanted), TOOLS)
    assert is_native
    assert (one.id, one.name, one.arguments) == ("c1", "keyword", ASKED["arguments"])


@pytest.mark.parametrize("arguments", ["{", "[1]", "3", "x" * (MOST_CHARACTERS + 1)])
def test_arguments_that_cannot_be_read_are_told_as_such(arguments: str) -> None:
    (one,), _ = read_calls(said("", ToolCall("", "keyword", arguments)), TOOLS)
    assert one.unreadable
    assert one.id == "call_0"


def test_a_megabyte_of_argument_is_not_kept() -> None:
    (one,), _ = read_calls(said("", ToolCall("", "keyword", "x" * 1_000_000)), TOOLS)
    assert (one.arguments, len(str(one)) < 500) == ({}, True)


@pytest.mark.parametrize(
    "text",
    [
        f"I look.\n```json\n{json.dumps(ASKED)}\n```",
        f"```\n{json.dumps(ASKED)}\n```",
        f"<tool_call>{json.dumps(ASKED)}</tool_call>",
        json.dumps(ASKED),
        json.dumps({"name": "keyword", "parameters": ASKED["arguments"]}),
        json.dumps({"name": "keyword", "arguments": '{"query": "klystron"}'}),
        json.dumps(
            [{"function": {"name": "keyword", "arguments": {"query": "klystron"}}}]
        ),
    ],
)
def test_a_call_in_a_text_is_found(text: str) -> None:
    (one,), is_native = read_calls(said(text), TOOLS)
    assert not is_native
    assert (one.name, one.arguments) == ("keyword", {"query": "klystron"})


@pytest.mark.parametrize(
    "text",
    [
        "The klystron tripped [1.1].",
        'Its setting was ```{"kV": 3}``` then.',
        "```python\nprint(1)\n```",
        "",
    ],
)
def test_an_answer_is_no_call(text: str) -> None:
    assert read_calls(said(text), TOOLS) == ((), False)


def test_half_a_call_is_neither() -> None:
    with pytest.raises(MalformedCallError):
        read_calls(said('```json\n{"tool": "keyword", "arguments": {\n```'), TOOLS)


def test_no_turn_has_more_calls_than_it_may() -> None:
    many = [ToolCall(str(n), "keyword", "{}") for n in range(40)]
    found, _ = read_calls(said("", *many), TOOLS)
    assert len(found) == MOST_CALLS


@given(st.text(max_size=400))
def test_no_text_is_too_strange(text: str) -> None:
    try:
        found, is_native = read_calls(said(text), TOOLS)
    except MalformedCallError:
        return
    assert len(found) <= MOST_CALLS
    assert not is_native


@pytest.mark.requirement("S0-70")
def test_five_turns_are_eleven_steps_at_most() -> None:
    assert Bounds().steps == 11
    assert [Bounds().is_last(n) for n in (4, 5)] == [False, True]
