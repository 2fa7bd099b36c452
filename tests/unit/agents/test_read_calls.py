"""What a model wants to have called, whichever way it says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.agents.bounds import MOST_TAKEN_UP, Bounds
from shared.agents.read_calls import (
    MOST_CALLS,
    MOST_CHARACTERS,
    MOST_DEPTH,
    MalformedCallError,
    read_calls,
)
from shared.agents.turn_rows import TurnRow
from shared.language_models.completion import (
    ChatRequest,
    Completion,
    CompletionReader,
    ToolCall,
)

TOOLS = ("keyword", "semantic")
ASKED = {"tool": "keyword", "arguments": {"query": "klystron"}}


def said(text: str = "", *calls: ToolCall) -> Completion:
    return Completion(text, calls, "stop", 1, 1)


def test_a_native_call_is_taken_as_it_is() -> None:
    wanted = ToolCall("c1", "keyword", '{"query": "klystron"}')
    (one,), is_native = read_calls(said("", wanted), TOOLS)
    assert is_native
    assert (one.id, one.name, one.arguments) == ("c1", "keyword", ASKED["arguments"])


@pytest.mark.parametrize(
    "arguments",
    [
        *("{", "[1]", "3", "x" * (MOST_CHARACTERS + 1)),
        # What Python reads as JSON, and Postgres does not.
        *('{"limit": NaN}', '{"limit": 1e999}'),
        '{"query": ' + "[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1) + "}",
    ],
)
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
        # Not fenced, or the fence is not closed, or written otherwise.
        f"I look for it.\n{json.dumps(ASKED)}",
        f"{json.dumps(ASKED)}\nI wait for what is found [as I was told].",
        f"```json\n{json.dumps(ASKED)}",
        f"```JSON\n{json.dumps(ASKED)}\n```",
        f"<tool_call>\n{json.dumps(ASKED)}\n",
        f"<think>In {{brackets}}.</think>\n{json.dumps(ASKED)}",
        json.dumps({"tool_calls": [ASKED]}),
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


@pytest.mark.parametrize("query", ["p < 5 mbar", "`LER` ```trip```", "{x} }", "a\nb"])
@pytest.mark.parametrize("around", ["```json\n{}\n```", "<tool_call>{}</tool_call>"])
def test_a_call_may_ask_for_any_signs(around: str, query: str) -> None:
    # A model breaks its line as it is.
    asked = json.dumps({"tool": "keyword", "arguments": {"query": query}})
    written = around.replace("{}", asked.replace("\\n", "\n"))
    (one,), _ = read_calls(said(written), TOOLS)
    assert one.arguments == {"query": query}


def test_two_calls_one_behind_the_other_are_two() -> None:
    others = {"tool": "semantic", "arguments": {"query": "a window"}}
    text = f"{json.dumps(ASKED)}\n{json.dumps(others)}"
    found, _ = read_calls(said(text), TOOLS)
    assert [one.name for one in found] == ["keyword", "semantic"]


@pytest.mark.parametrize(
    "text",
    [
        "The klystron tripped [1.1].",
        'Its card said {"kV": 3, "of": {"name": "LER"}} and {"cut": then [1.1].',
        'Its setting was ```{"kV": 3}``` then.',
        "```python\nprint(1)\n```",
        "",
    ],
)
def test_an_answer_is_no_call(text: str) -> None:
    assert read_calls(said(text), TOOLS) == ((), False)


@pytest.mark.parametrize("end", ["\n```", "", '"query": "klys'])
@pytest.mark.parametrize("before", ["```json\n", "", "I look.\n", "<tool_call>"])
def test_half_a_call_is_neither(before: str, end: str) -> None:
    with pytest.raises(MalformedCallError):
        read_calls(said(f'{before}{{"tool": "keyword", "arguments": {{{end}'), TOOLS)


def test_a_text_of_brackets_is_no_call() -> None:
    assert read_calls(said('{"a": ' * 100_000), TOOLS) == ((), False)


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


# As a model writes it, escaped or not, and what is kept of it.
STRANGE = [
    ("a\\u0000b", "a\ufffdb"),
    ("a\\ud800b", "a\ufffdb"),
    ("\\ud83d\\ude00", "\U0001f600"),
]


@pytest.mark.parametrize(("written", "kept"), STRANGE)
def test_what_postgres_refuses_is_mended_in_arguments(written: str, kept: str) -> None:
    arguments = f'{{"query": ["{written}"], "{written}": 1}}'
    block = f'{{"tool": "keyword", "arguments": {arguments}}}'
    for one in (said("", ToolCall("c", "keyword", arguments)), said(block)):
        ((call,), _) = read_calls(one, TOOLS)
        assert call.arguments == {"query": [kept], kept: 1}


def test_what_postgres_refuses_is_mended_in_a_model_s_text() -> None:
    reader = CompletionReader(ChatRequest([], 100))
    for text in ("a\x00", "b\ud83d", "\ude00", "\ud800"):
        heard = reader.read({"choices": [{"delta": {"content": text}}]})
        heard.encode("utf-8")
    called = {"id": "\x00", "function": {"name": "k\ud800", "arguments": "\x00"}}
    reader.read({"choices": [{"delta": {"tool_calls": [called]}}]})
    reader.read({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    whole = reader.completion(None, 1.0)
    assert whole.text == "a\ufffdb\U0001f600\ufffd"
    assert whole.tool_calls == (ToolCall("\ufffd", "k\ufffd", "\ufffd"),)


def test_a_turn_that_nobody_could_keep_is_not_asked_for_ever() -> None:
    def stopped(repeated: int) -> str | None:
        turn = TurnRow(2, "asked", None, [], {}, 0, 0, repeated, None, None)
        return Bounds().stop_before([turn], 2)

    assert stopped(MOST_TAKEN_UP) is None
    assert stopped(MOST_TAKEN_UP + 1) == "model_unavailable"
