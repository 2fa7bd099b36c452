"""The tools of an agent: they only read, fail in the open, and tell nobody else's."""

import json
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.agents import tools
from shared.agents.bounds import Bounds
from shared.agents.run_call import carry_out_call
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.entries.draft import EntryDraft
from shared.errors import DatabaseQueryError, EmbeddingGenerationError, NotFoundError
from shared.postgres.pool import connection, make_pool
from shared.search.jobs import job as jobs
from shared.search.query import modes
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from tests.support.agent_runner import QUESTION, Runner, call, calls, scripted
from tests.support.fixtures.asking import ANNA, BEN, CLOCK
from tests.support.stub_servers.chat_server import says

SEARCHING = ("keyword", "semantic", "procedure", "tag", "graph", "attachment_name")
# What each tool is called with beside a question.
CLOSER: dict[str, dict[str, Any]] = {
    tools.GET_ENTRY: {"ref": "trip"},
    tools.GET_THREAD: {"ref": "trip"},
    tools.FILTER_VALUES: {"field": "source"},
    tools.PARSE_TIME: {"text": "last night"},
}


def test_no_tool_writes_anything(runner: Runner, database: str) -> None:
    mode = modes.make_agent_mode(SEARCHING, 120_000)
    limits = PlanLimits(opensearch=False, pipelines=(mode,))
    plan = make_plan(SearchQuery(QUESTION, mode="agent"), ANNA, limits, CLOCK)
    offered = tools.list_tools(plan)
    assert offered.keys() == {*SEARCHING, *CLOSER}
    with closing(
        make_pool(database, application="reader", size=2, read_only=True)
    ) as pool:
        with pytest.raises(DatabaseQueryError), connection(pool) as conn:
            conn.execute("DELETE FROM job")
        context = replace(runner.asking.context, pool=pool)
        clock = replace(CLOCK, now=datetime.now(UTC))
        for name, tool in offered.items():
            given = tool.read(CLOSER.get(name, {"query": QUESTION}))
            found = carry_out_call(
                context, plan, tool, given, clock, time.time() + 60, time.time
            )
            assert {one.status for one in found} <= {"ok", "empty"}, (name, found)


def test_an_older_revision_is_not_told_as_the_newest(runner: Runner) -> None:
    again = EntryDraft("api", "trip", "The klystron tripped because its cable was cut.")
    runner.asking.write(again)
    scripted(
        runner,
        calls(
            call("get_entry", ref="/e/api/trip@1"),
            call("get_thread", place=1, ref="trip@1"),
            call("get_entry", place=2, ref="/e/api/trip@2"),
        ),
        says("Its cable was cut [1.1]."),
    )
    first, second, third = runner.run().turns[0].results
    for _, kept in (first, second):
        assert (kept["status"], kept["found"]) == ("invalid", 0)
        assert "newest revision" in kept["message"]
    assert (third[1]["status"], third[1]["found"]) == ("ok", 1)


def test_a_tool_that_always_fails_is_bounded_and_told(runner: Runner) -> None:
    class Broken(HashingEncoder):
        def encode(self, texts: Any) -> Any:
            raise EmbeddingGenerationError(technical=f"{len(texts)} texts")

    runner.asking.context = replace(runner.asking.context, encoder=lambda _: Broken())
    runner.bounds = Bounds(turns=9, calls_of_tool=3)
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        *(calls(call("semantic", query=f"the klystron {n}")) for n in range(9)),
    )
    ended = runner.run()

    kept = [one.outcomes["0"] for one in ended.turns[1:] if one.calls]
    assert [one["status"] for one in kept] == ["error"] * 3
    assert {one["error_code"] for one in kept} == {"embedding_unavailable"}
    assert (ended.reason, runner.ran) == ("tool_budget", [100, 200, 300, 400])
    body = ended.body
    assert body["state"] == "partial"
    told = "The tool semantic failed for 'the klystron 0' (embedding_unavailable)"
    assert told in body["answer"]
    assert body["context_answer"]["status"] in {"clarify", "insufficient"}
    # The model is told, too, so that it may ask another way.
    heard = json.loads(runner.script.asked[2]["messages"][-1]["content"])
    assert heard["error"]["code"] == "embedding_unavailable"


def test_an_argument_of_a_megabyte_is_stored_nowhere(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        calls(call("keyword", query="x" * 1_000_000)),
    )
    ended = runner.run()

    assert ended.reason == "model_malformed"
    assert (ended.body["state"], runner.ran) == ("partial", [100])
    with connection(runner.asking.pool) as conn:
        sizes = conn.execute(
            "SELECT octet_length(t::text) FROM agent_turn t WHERE job_id = %s",
            (ended.job.job_id,),
        ).fetchall()
    assert len(sizes) == 2
    assert max(size for (size,) in sizes) < 10_000


def test_no_trace_of_a_run_holds_what_its_caller_may_not_see(runner: Runner) -> None:
    runner.asking.write(
        EntryDraft(
            *("api", "hidden", "The klystron window of KLY-99 was sabotaged."),
            readers=("ben",),
            authors=("Mallory",),
        )
    )
    scripted(
        runner,
        calls(
            call("keyword", query="klystron window"),
            call("semantic", place=1, query="who sabotaged the klystron window"),
            call("get_entry", place=2, ref="hidden"),
            call("get_thread", place=3, ref="closed"),
            call("filter_values", place=4, field="device"),
        ),
        says("The klystron tripped because its window was cracked [1.1]."),
    )
    ended = runner.run()

    assert ended.reason == "answered"
    with connection(runner.asking.pool) as conn:
        turns = conn.execute(
            "SELECT t::text FROM agent_turn t WHERE job_id = %s", (ended.job.job_id,)
        ).fetchall()
        stored = conn.execute(
            "SELECT j::text FROM job j WHERE id = %s", (ended.job.job_id,)
        ).fetchone()
        # To somebody else there is no such job, and so no turns of it.
        with pytest.raises(NotFoundError):
            jobs.find_own_job(conn, BEN, ended.job.job_id)
    kept = "".join(map(str, [*turns, stored, _all_of(runner), ended.body]))
    asked = "who sabotaged the klystron window"
    assert asked in kept
    kept = kept.replace(asked, "")
    for word in ("sabotaged", "Mallory", "KLY-99"):
        assert word not in kept


def _all_of(runner: Runner) -> list[Any]:
    """Return what Valkey keeps, of every kind."""
    client = runner.redis
    found: list[Any] = []
    for key in client.scan_iter("*"):
        match client.type(key):
            case "hash":
                found.append(client.hgetall(key))
            case "stream":
                found.append(client.xrange(key))
            case "string":
                found.append(client.get(key))
            case "set":
                found.append(client.smembers(key))
            case other:
                message = f"{key!r} is a {other!r}: nobody has looked into it"
                raise AssertionError(message)
    assert found
    return found


@pytest.mark.parametrize("length", [12, tools.MOST_OF_THREAD])
def test_a_thread_is_read_to_its_end(runner: Runner, length: int) -> None:
    runner.asking.write(
        *(
            EntryDraft(
                *("api", f"T-{n}", f"Step {n} of the repair of pump 7 was done."),
                thread_key="T-0",
            )
            for n in range(length)
        )
    )
    scripted(runner, calls(call("get_thread", ref="T-0")), says("It is done [12.1]."))
    runner.run()
    (told,) = [m for m in runner.script.asked[1]["messages"] if m["role"] == "tool"]
    heard = json.loads(told["content"])
    assert heard["found"] == len(heard["entries"]) == length
    for n, one in enumerate(heard["entries"]):
        assert any(f"Step {n} " in said for said in one["sentences"].values())
