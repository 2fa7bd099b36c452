"""How an agent ends: with an answer, at a bound, with a bad model, with nothing."""

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from shared.agents.bounds import Bounds
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from tests.support.agent_runner import Runner, call, calls, scripted
from tests.support.fixtures.asking import ANNA
from tests.support.stub_servers.chat_server import (
    Reply,
    answers,
    goes_on,
    part,
    says,
    streams,
)


@pytest.mark.requirement("S0-70", "C23")
def test_a_model_that_never_stops_has_five_turns_and_no_tools_in_the_last(runner):
    scripted(runner, *(calls(call("keyword", query=f"klystron {n}")) for n in range(5)))
    ended = runner.run()
    assert ended.reason == "max_turns"
    assert len(ended.turns) == 5
    assert [bool(one.get("tools")) for one in runner.script.asked] == [True] * 4 + [
        False
    ]
    # What was found is told all the same.
    assert (ended.body["state"], "trip" in ended.found) == ("partial", True)
    assert runner.bounds.steps == 11


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(tool_calls=1), "tool_budget"),
        (Bounds(calls_of_tool=1), "tool_budget"),
        (Bounds(tokens=39), "token_budget"),
        (Bounds(turns=1), "max_turns"),
    ],
)
def test_every_bound_ends_with_what_was_found(runner, bounds, reason) -> None:
    runner.bounds = bounds
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        calls(call("keyword", query="window"), call("keyword", place=1, query="x")),
        says("Its window was cracked [1.1]."),
    )
    ended = runner.run()
    assert ended.reason == reason
    assert ended.body["state"] == "partial"
    spent = sum(one.tokens_in + one.tokens_out for one in ended.turns)
    # The cap, and one call.
    assert spent <= bounds.tokens + 40


# What a bad model does, why the agent ends, how often it is asked in the second turn,
# and what tokens that is said to have cost: an answer that is not whole tells none.
BAD: dict[str, tuple[Reply, str, int, int]] = {
    "malformed JSON": (streams("data: {\n\n"), "model_malformed", 2, 0),
    "half a call as text": (
        *(says('```json\n{"tool": "keyword", "arguments": {\n```'), "model_malformed"),
        *(2, 60),
    ),
    "empty": (says(""), "model_malformed", 2, 60),
    "refuses": (
        *(streams(part(refusal="no"), part(finish="stop")), "model_unavailable"),
        *(1, 0),
    ),
    "429": (answers(429, {}, "application/json"), "model_unavailable", 2, 0),
    "429 for a moment": (
        *(answers(429, {}, "application/json", retry_after="1"), "model_unavailable"),
        *(2, 0),
    ),
    "429 for an hour": (
        answers(429, {}, "application/json", retry_after="3600"),
        *("model_unavailable", 1, 0),
    ),
    "cut": (streams(part("The"), done=False), "model_unavailable", 2, 0),
    "wrong key": (answers(401, {}, "application/json"), "model_unavailable", 1, 0),
}
_FIRST_TURN_TOKENS = 40


@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_ends_the_agent_with_its_reason(runner: Runner, name: str) -> None:
    reply, reason, asked, tokens = BAD[name]
    scripted(runner, calls(call("keyword", query="klystron")), reply)
    ended = runner.run()
    assert ended.reason == reason
    assert (ended.body["state"], "trip" in ended.found) == ("partial", True)
    assert ended.turns[-1].exit_reason == reason
    assert len(runner.script.asked) == 1 + asked
    spent = sum(one.tokens_in + one.tokens_out for one in ended.turns)
    assert spent == _FIRST_TURN_TOKENS + tokens


def test_a_busy_model_is_asked_again_when_it_wants_to_be(runner: Runner) -> None:
    asked_at: list[float] = []
    busy = answers(429, {}, "application/json", retry_after="2")
    good = says("The klystron tripped because its window was cracked [1.1].")

    def timed(reply: Reply) -> Reply:
        def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
            asked_at.append(time.monotonic())
            reply(handler, body)

        return answer

    scripted(runner, calls(call("keyword", query="klystron")), timed(busy), timed(good))
    assert runner.run().reason == "answered"
    assert asked_at[1] - asked_at[0] >= 2


def test_a_model_that_goes_on_for_ever_is_cut_off(runner: Runner) -> None:
    # It is cut off by its length, and not by the clock.
    runner.timeout_seconds = 50.0
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        goes_on(runner.script.released, " on and on" * 500),
    )
    ended = runner.run()
    assert ended.reason == "model_malformed"
    assert (ended.body["state"], len(runner.script.asked)) == ("partial", 3)
    spent = sum(one.tokens_in + one.tokens_out for one in ended.turns)
    assert spent == _FIRST_TURN_TOKENS


@pytest.mark.requirement("S0-70")
def test_a_model_that_is_asked_again_each_time_comes_to_the_step_guard(runner) -> None:
    replies = [
        one
        for n in range(5)
        for one in (says(""), calls(call("keyword", query=f"klystron {n}")))
    ]
    scripted(runner, *replies)
    ended = runner.run()
    # Of eleven steps each turn took three: two words, and its call.
    assert ended.reason == ended.turns[-1].exit_reason == "step_guard"
    assert [len(one.calls) for one in ended.turns] == [1, 1, 1, 1, 0]
    assert len(runner.script.asked) == 8
    assert (ended.body["state"], "trip" in ended.found) == ("partial", True)


def test_an_endpoint_that_wants_tools_named_beside_their_calls_answers_all_the_same(
    runner: Runner,
) -> None:
    said = says("The klystron tripped because its window was cracked [1.1].")
    error = {"message": "Requests which include `tool_use` blocks must define tools."}

    def strict(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        told = body["messages"]
        is_bare = any(one.get("tool_calls") for one in told) and "tools" not in body
        # As Anthropic's: no message is empty either.
        is_refused = is_bare or not all(one["content"] for one in told)
        refused = answers(400, {"error": error}, "application/json")
        (refused if is_refused else said)(handler, body)

    runner.bounds = Bounds(turns=2)
    scripted(runner, calls(call("keyword", query="klystron")), strict)
    ended = runner.run()
    assert ended.reason == "answered"
    assert "cracked" in ended.body["answer"]
    last = runner.script.asked[-1]["messages"]
    (asked,) = [one["content"] for one in last if one["role"] == "assistant"]
    assert json.loads(asked.strip("`json\n")) == {
        "tool": "keyword",
        "arguments": {"query": "klystron"},
    }


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_a_sentence_that_the_longest_answer_cut_is_not_told(runner, finish) -> None:
    said = "The klystron tripped [1.1]. Cracked was its window [1.1], which was"
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        streams(part(said), part(finish=finish)),
    )
    ended = runner.run()
    assert ended.reason == "answered"
    assert ended.search.sentences is not None
    assert ended.search.sentences.model is not None
    is_cut = finish == "length"
    assert ended.search.sentences.model.removed == int(is_cut)
    assert ("which was" in ended.body["answer"]) is not is_cut
    assert "klystron tripped" in ended.body["answer"]


@pytest.mark.requirement("S0-71", "C23")
def test_a_deadline_in_a_turn_ends_it_with_what_was_found(runner: Runner) -> None:
    runner.deadline_seconds, runner.timeout_seconds = 3.0, 30.0
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        goes_on(runner.script.released, ""),
    )
    began = time.monotonic()
    ended = runner.run()
    assert time.monotonic() - began < 3.0 + 5.0
    assert ended.reason == "deadline"
    with connection(runner.asking.pool) as conn:
        stored = jobs.find_own_job(conn, ANNA, ended.job.job_id)
    assert stored.state == "partial"
    assert stored.error is not None
    assert stored.error["code"] == "search_timeout"
    assert stored.ranked is not None


def test_a_tool_that_fails_is_told_by_us(runner: Runner) -> None:
    scripted(
        runner,
        calls(
            call("get_entry", ref="nowhere"), call("keyword", place=1, query="klystron")
        ),
        says("Its window was cracked [1.1]."),
    )
    ended = runner.run()
    body = ended.body
    assert "The tool get_entry failed" in body["answer"]
    assert "is unknown" in body["answer"]
    assert body["context_answer"]["status"] != "grounded"
    assert body["degraded"] is True


UNSEARCHED = "The model called no tool that could be run: nothing was searched."


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (says("The klystron tripped because I say so [1.1]."), "answered"),
        (answers(401, {}, "application/json"), "model_unavailable"),
        (calls(call("no_such_tool", query="klystron")), "max_turns"),
    ],
)
def test_where_no_tool_was_carried_out_it_says_that_nothing_was_searched(
    runner: Runner, reply: Reply, reason: str
) -> None:
    scripted(runner, reply)
    ended = runner.run()

    body = ended.body
    said = body["context_answer"]
    assert (said["status"], said["summary"]) == ("insufficient", UNSEARCHED)
    assert said["code"] == "branches_failed"
    assert (body["results"], body["answer"]) == ([], None)
    assert body["agent"]["exit_reason"] == ended.turns[-1].exit_reason == reason
    assert (body["state"], ended.search.ending.state) == ("partial", "partial")
    # Whoever reads the job later is told the same.
    assert runner.read(ended)["context_answer"]["summary"] == UNSEARCHED


def test_where_every_tool_failed_it_says_which(runner: Runner) -> None:
    scripted(runner, calls(call("get_entry", ref="nowhere")), says("It tripped [1.1]."))
    ended = runner.run()
    said = ended.body["context_answer"]["summary"]
    assert said.startswith("Nothing could be searched: get_entry ("), said
    assert runner.read(ended)["context_answer"]["summary"] == said
