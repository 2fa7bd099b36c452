"""An agent's turns with a scripted model, on a real Postgres and a real Valkey."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.agents import turn_rows
from shared.agents.take_turn import take_turn
from shared.entries.draft import EntryDraft
from shared.language_models import quota
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs import progress
from shared.search.jobs.job import Job
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.settings.settings import Settings
from tests.support.agent_runner import (
    PIPELINES,
    QUESTION,
    Runner,
    call,
    calls,
    scripted,
)
from tests.support.fixtures.asking import ANNA, CLOCK
from tests.support.stub_servers.chat_server import says
from workers.tasks.agent import _tell_turns as tell_turns


@pytest.mark.requirement("S0-63", "S0-64", "S0-72", "S0-74")
def test_an_agent_searches_broadens_and_answers(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="klystron exploded violently AND quenched")),
        calls(
            call("keyword", query="klystron"),
            call("semantic", place=1, query="klystron window cracked"),
        ),
        says("The klystron tripped because its window was cracked [1.1]."),
    )
    ended = runner.run()
    assert ended.reason == "answered"
    assert [len(one.calls) for one in ended.turns] == [1, 2, 0]
    assert ended.turns[-1].exit_reason == "answered"
    body = ended.body
    assert (body["state"], body["deterministic"]) == ("done", False)
    assert "trip" in ended.found
    assert "cracked" in body["answer"]
    assert body["agent"]["twin"]["mode"] == "agentic"
    # What the model was told: titles and sentences, and nobody else's entries.
    told = json.dumps(runner.script.asked)
    assert "window was cracked" in told
    assert "sabotaged" not in told
    assert runner.ran == [100, 200, 201]
    with connection(runner.asking.pool) as conn:
        stored = jobs.find_own_job(conn, ANNA, ended.job.job_id)
    assert stored.state == "done"
    assert "sabotaged" not in json.dumps([stored.branches, stored.ranked])


@pytest.mark.requirement("S0-66")
def test_bad_arguments_go_back_to_the_model_and_not_to_the_reader(runner) -> None:
    scripted(
        runner,
        calls(
            call("keyword", query=3),
            call("telepathy", place=1, query="x"),
            {"index": 2, "id": "c", "function": {"name": "keyword", "arguments": "{"}},
        ),
        calls(call("keyword", query="klystron")),
        says("Its window was cracked [1.1]."),
    )
    ended = runner.run()
    assert ended.reason == "answered"
    codes = [one["error_code"] for _, one in sorted(ended.turns[0].outcomes.items())]
    assert codes == ["validation_failed", "unknown_tool", "validation_failed"]
    assert runner.ran == [200]
    told = [m for m in runner.script.asked[1]["messages"] if m["role"] == "tool"]
    assert [json.loads(one["content"])["error"]["code"] for one in told] == codes


@pytest.mark.requirement("S0-66")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("keyword", {"query": "klystron", "start_date": "the other day"}),
        ("keyword", {"query": "klystron", "exclude_entry_ids": ["#12"]}),
        ("parse_time", {"text": "when it tripped"}),
    ],
)
def test_what_only_the_search_can_refuse_does_not_come_to_the_reader_either(
    runner: Runner, name: str, arguments: dict[str, Any]
) -> None:
    scripted(
        runner,
        calls(call(name, **arguments)),
        calls(call("keyword", query="klystron")),
        says("The klystron tripped because its window was cracked [1.1]."),
    )
    ended = runner.run()
    first = ended.turns[0].outcomes["0"]
    assert (first["status"], first["error_code"]) == ("invalid", "validation_failed")
    (heard,) = [m for m in runner.script.asked[1]["messages"] if m["role"] == "tool"]
    assert json.loads(heard["content"])["error"]["code"] == "validation_failed"
    body = ended.body
    assert (body["state"], body["degraded"]) == ("done", False)
    assert "failed" not in body["answer"]


def test_what_a_model_leaves_out_as_null_or_writes_otherwise_is_read(runner) -> None:
    left_out: dict[str, Any] = {"sort": None, "author": None}
    scripted(
        runner,
        calls(call("keyword", query="klystron", limit="5.0", **left_out)),
        calls(call("keyword", query="klystron", limit=5)),
        says("The klystron tripped because its window was cracked [1.1]."),
    )
    ended = runner.run()
    assert (ended.reason, runner.ran) == ("answered", [100])
    assert ended.turns[0].calls[0]["arguments"] == {"query": "klystron", "limit": 5}
    assert ended.turns[1].outcomes["0"]["status"] == "repeated"


def test_the_same_call_is_not_carried_out_twice(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        calls(call("keyword", query="klystron")),
        calls(call("keyword", limit=10, query="klystron")),
        says("never asked"),
    )
    ended = runner.run()
    assert ended.reason == "repeated_calls"
    assert runner.ran == [100]
    assert [one.outcomes["0"]["status"] for one in ended.turns if one.calls] == [
        "ok",
        "repeated",
        "repeated",
    ]
    assert len(runner.script.asked) == 3


def test_calls_that_are_written_as_text_are_carried_out(runner: Runner) -> None:
    asked = json.dumps({"tool": "keyword", "arguments": {"query": "klystron"}})
    scripted(
        runner,
        says(f"I search.\n```json\n{asked}\n```"),
        says("Its window was cracked [1.1]."),
    )
    ended = runner.run()
    assert (ended.reason, runner.ran) == ("answered", [100])
    # It is told as text what came of it, and named no tools again.
    second = runner.script.asked[1]
    assert "tools" not in second
    assert all(one["role"] != "tool" for one in second["messages"])


@pytest.mark.requirement("S0-65")
def test_the_tools_are_the_modules_of_the_plan_and_four_closer_looks(runner) -> None:
    scripted(runner, says("nothing"))
    runner.run()
    offered = {one["function"]["name"] for one in runner.script.asked[0]["tools"]}
    closer = {"get_entry", "get_thread", "filter_values", "parse_time"}
    assert offered == {"keyword", "semantic", *closer}


def test_closer_looks_see_what_the_caller_sees(runner: Runner) -> None:
    scripted(
        runner,
        calls(
            call("get_entry", ref="trip"),
            call("get_thread", place=1, ref="window"),
            call("filter_values", place=2, field="source"),
            call("get_entry", place=3, ref="closed"),
        ),
        says("Its window was cracked [1.1]."),
    )
    ended = runner.run()
    kept = [ended.turns[0].outcomes[str(n)] for n in range(4)]
    assert [one["status"] for one in kept] == ["ok", "ok", "ok", "error"]
    assert kept[2]["told"]["values"] == [{"value": "api", "count": 2}]
    assert kept[3]["error_code"] == "not_found"
    assert ended.found == {"trip", "window"}


class Killed(BaseException):
    """A worker that dies here."""


@pytest.mark.parametrize(
    "death",
    [
        *("turn_claimed", "before_said", "after_said"),
        *("calls_sent", "call_begun", "before_keep"),
    ],
)
def test_whoever_dies_is_followed_by_one_who_goes_on(runner, death) -> None:
    script = (
        calls(call("keyword", query="klystron"), call("semantic", place=1, query="x")),
        says("Its window was cracked [1.1]."),
    )
    scripted(runner, *script)
    unkilled = runner.run()
    # A word that nobody has kept is said once more.
    scripted(runner, *(script[:1] if death == "before_said" else ()), *script)
    runner.ran.clear()
    asked = len(runner.script.asked)
    left = [death]

    def kill(name: str, _: UUID) -> None:
        if name in left:
            left.remove(name)
            raise Killed

    runner.checkpoint = kill
    job = runner.open()
    with pytest.raises(Killed):
        runner.run(job)
    runner.sent.clear()
    _lease_ends(runner, job)
    [(job_id, turn_no)] = _left_alone(runner)
    assert job_id == job.job_id
    ended = runner.run(job, turn_no)
    assert (ended.reason, ended.found) == ("answered", unkilled.found)
    assert ended.body["answer"] == unkilled.body["answer"]
    assert [one.calls for one in ended.turns] == [one.calls for one in unkilled.turns]
    # One call of the model more, if nobody had kept its word; one run of the call that
    # was under way, and none of a call that had come to something.
    assert len(runner.script.asked) - asked == 2 + (death == "before_said")
    assert len(runner.ran) == 2 + (death in {"call_begun", "before_keep"})
    assert sum(one.repeated for one in ended.turns) >= 1


def test_a_call_that_was_sent_twice_is_carried_out_once(runner: Runner) -> None:
    scripted(runner, calls(call("keyword", query="klystron")), says("It was [1.1]."))
    job = runner.open()
    take_turn(runner.process, job.job_id, 1)
    # Its queue is busy for longer than a turn is held: it is sent once more.
    _lease_ends(runner, job)
    take_turn(runner.process, job.job_id, 1)
    assert [numbers for numbers, _ in runner.sent] == [[100], [100]]
    begun: list[str] = []
    runner.checkpoint = lambda name, _: begun.append(name)
    runner.run_calls(job)
    runner.run_calls(job)
    assert begun.count("call_begun") == 1
    assert runner.run(job, 2).reason == "answered"


def test_an_agent_is_one_answer_of_its_tenant_s_quota(runner: Runner) -> None:
    taken = partial(quota.take_answer, runner.redis, per_day=1, per_minute=9)
    runner.redis.delete(*runner.redis.keys("quota:llm:default:*") or ["none"])
    runner.take_answer = lambda tenant: taken(tenant).is_allowed
    scripted(runner, calls(call("keyword", query="klystron")), says("It was [1.1]."))
    assert runner.run().reason == "answered"
    asked = len(runner.script.asked)

    assert runner.run().reason == "model_unavailable"

    assert len(runner.script.asked) == asked == 2


def test_each_turn_that_is_over_is_told_once(runner: Runner) -> None:
    scripted(runner, calls(call("keyword", query="klystron")), says("It was [1.1]."))
    job = runner.open()
    ended = runner.run(job)
    ctx: Any = SimpleNamespace(
        redis=runner.redis, pool=runner.asking.pool, settings=Settings()
    )
    for _ in range(2):
        tell_turns(ctx, job.job_id, 1, None)
    told = progress.read_progress(runner.redis, job.job_id).events
    turns = [one.says["turn"] for one in told if one.name == "agent_turn"]
    assert turns == [one.turn_no for one in ended.turns] == [1, 2]


def test_an_emptied_redis_costs_this_turn_s_calls_alone(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="klystron")),
        calls(call("keyword", query="window")),
        says("Its window was cracked [1.1]."),
    )
    job = runner.open()
    take_turn(runner.process, job.job_id, 1)
    turn_no = runner.run_calls(job)
    assert turn_no == 2
    take_turn(runner.process, job.job_id, turn_no)
    runner.sent.clear()
    runner.redis.flushdb()
    _lease_ends(runner, job)
    ended = runner.run(job, 2)
    assert (ended.reason, runner.ran) == ("answered", [100, 200])
    assert len(runner.script.asked) == 3


def _lease_ends(runner: Runner, job: Job) -> None:
    with connection(runner.asking.pool) as conn:
        conn.execute(
            "UPDATE agent_turn SET lease_until = now() - interval '1 s'"
            " WHERE job_id = %s AND state IN ('asked', 'calling')",
            (job.job_id,),
        )


def _left_alone(runner: Runner) -> list[tuple[UUID, int]]:
    with connection(runner.asking.pool) as conn:
        return turn_rows.list_left_alone(conn)


def test_a_job_of_which_no_turn_was_taken_is_found(runner: Runner) -> None:
    job = runner.open()
    assert _left_alone(runner) == []
    with connection(runner.asking.pool) as conn:
        conn.execute(
            "UPDATE job SET created_at = now() - interval '1 minute' WHERE id = %s",
            (job.job_id,),
        )
    assert _left_alone(runner) == [(job.job_id, 1)]


def test_a_large_argument_is_refused(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="x" * 1500)),
        calls(call("keyword", query="x" * 9000)),
        says("nothing"),
    )
    ended = runner.run()
    assert ended.turns[1].outcomes["0"]["error_code"] == "validation_failed"
    assert ended.reason == "answered"


def test_the_scope_of_the_caller_travels(runner: Runner) -> None:
    ben = Scope("default", "ben")
    limits = PlanLimits(opensearch=False, pipelines=PIPELINES)
    runner.plan = make_plan(SearchQuery(QUESTION, mode="agent"), ben, limits, CLOCK)
    scripted(runner, calls(call("keyword", query="klystron")), says("It was [1.1]."))
    assert "closed" in runner.run().found


def test_what_postgres_refuses_is_asked_and_paid_once(runner: Runner) -> None:
    scripted(
        runner,
        calls(call("keyword", query="klystron \x00\ud800")),
        says("Its window was cracked [1.1].\x00"),
    )
    ended = runner.run()
    assert ended.reason == "answered"
    assert ended.turns[0].calls[0]["arguments"] == {"query": "klystron \ufffd\ufffd"}
    assert len(runner.script.asked) == 2


@pytest.mark.requirement("I23")
def test_a_model_hears_nobody_s_name_and_nothing_of_excluded_logbooks(runner) -> None:
    runner.asking.write(
        EntryDraft(
            *("api", "mended", "Jörg Müller\nSmith mended the klystron."),
            authors=("Jörg Müller", "Ann Smith"),
            logbooks=("RF",),
        ),
        EntryDraft(
            *("api", "hurt", "Somebody was hurt at the klystron."), logbooks=("Safety",)
        ),
    )
    runner.excluded = frozenset({"Safety"})
    scripted(
        runner,
        calls(
            call("keyword", query="klystron"),
            call("filter_values", place=1, field="logbook"),
            call("filter_values", place=2, field="author"),
        ),
        calls(call("keyword", query="klystron PERSON_1")),
        says("The klystron tripped because its window was cracked."),
    )
    ended = runner.run()
    first, second, third = (ended.turns[0].outcomes[str(n)] for n in range(3))
    assert first["status"] == "ok"
    assert second["told"]["values"] == [{"value": "RF", "count": 1}]
    assert third["error_code"] == "validation_failed"
    # What it called somebody is looked for by the name.
    assert "Müller" in ended.turns[1].calls[0]["arguments"]["query"]
    told = [one["content"] or "" for one in runner.script.asked[-1]["messages"]]
    told += [
        called["function"]["arguments"]
        for one in runner.script.asked[-1]["messages"]
        for called in one.get("tool_calls", ())
    ]
    assert "mended the klystron" in "".join(told)
    tools = [
        one for one in runner.script.asked[-1]["messages"] if one["role"] == "tool"
    ]
    searched = [json.loads(tools[place]["content"]) for place in (0, 3)]
    # No number tells of what is withheld.
    assert [one["found"] for one in searched] == [
        len(one["entries"]) for one in searched
    ]
    for name in ("Müller", "M\\u00fc", "Jörg", "Smith", "hurt", "Safety"):
        assert name not in "".join(told)
