"""Jobs of agents over the whole system: watched, cancelled, several at once."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shared.messaging.task_names import RUN_BRANCH, TAKE_AGENT_TURN
from tests.support.agent_runner import call, calls
from tests.support.fixtures.system import Factory
from tests.support.flower import flower_of, wait_for_tasks
from tests.support.model_world import World, model_world
from tests.support.stub_servers.chat_server import Reply, goes_on, says
from tests.support.typed import typist
from tests.support.waiting import until

ANSWER = "The compressed air had sagged to 3 bar"
AT_ONCE = 10
# The cap of a question's branches.
MOST_BRANCHES = 24


@pytest.fixture(scope="module")
def world(make_lasting_system: Factory) -> Iterator[World]:
    with model_world(make_lasting_system) as made:
        yield made


def by_turn(*replies: Reply) -> Reply:
    """Reply by how far the conversation has come, however often it is asked."""

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        turn = sum(one["role"] == "assistant" for one in body["messages"])
        replies[turn](handler, body)

    return reply


TWO_CALLS_AND_ONE = (
    calls(
        call("keyword", query="gate valve"),
        call("semantic", place=1, query="why the gate valve closed"),
    ),
    calls(call("get_entry", ref="OPS-2")),
    # What comes first of an entry is its title.
    says(f"{ANSWER} [1.2]."),
)


@pytest.mark.requirement("S0-63", "S0-74", "S4-59")
def test_an_agent_is_watched_turn_by_turn(world: World, tmp_path: Path):
    world.server.replies = [by_turn(*TWO_CALLS_AND_ONE)]
    with flower_of(world.system) as flower:
        job_id = world.submit(mode="agent")
        told = list(world.events("GET", f"/v1/search/jobs/{job_id}/events"))
        # Three turns, and their three calls, each a task by its name.
        tasks = wait_for_tasks(flower, job_id, 6)
        world.system.stop("flower")

    assert sorted(one["name"] for one in tasks) == sorted(
        [TAKE_AGENT_TURN] * 3 + [RUN_BRANCH] * 3
    )
    names = [name for _, name, _ in told]
    assert [one for one in names if not one.startswith("branch_")] == [
        *("accepted", "planned", "agent_turn", "agent_turn", "agent_turn"),
        *("results", "deterministic", "llm_status", "actions", "done"),
    ]
    numbers = [number for number, _, _ in told]
    assert numbers == sorted(set(numbers))
    turns = [data for _, name, data in told if name == "agent_turn"]
    assert [one["turn"] for one in turns] == [1, 2, 3]
    assert [[c["tool"] for c in one["tool_calls"]] for one in turns] == [
        ["keyword", "semantic"],
        ["get_entry"],
        [],
    ]
    assert [one["exit_reason"] for one in turns] == [None, None, "answered"]
    # A turn is told behind its calls, before the model is asked for the next one.
    firsts = [n for n, name in enumerate(names) if name == "agent_turn"]
    done = [n for n, name in enumerate(names) if name == "branch_done"]
    assert len(done) == 3
    assert done[1] < firsts[0] < done[2] < firsts[1]

    # The job, and a terminal, tell the same turns of it later.
    stored = world.client.get(f"/v1/search/jobs/{job_id}").json()
    assert stored["turns"] == [
        {name: one[name] for name in stored["turns"][0]} for one in turns
    ]
    assert [one["tokens"] for one in turns] == [40, 40, 30]
    found = stored["response"]
    assert (stored["state"], stored["error"]) == ("done", None), stored
    assert (found["deterministic"], found["replayable"]) == (False, False)
    assert (found["llm_status"], ANSWER in found["answer"]) == ("ok", True), found
    # Its owner's alone: to others there is no such job.
    with world.system.client(world.system.key(subject="somebody else")) as other:
        for path in ("", "/events"):
            assert other.get(f"/v1/search/jobs/{job_id}{path}").status_code == 404
    run = typist(world.system, tmp_path, world.system.key())
    shown, watched = (run("jobs", one, job_id).stdout for one in ("show", "watch"))
    for printed in (shown, watched):
        assert 'keyword("query": "gate valve"): 1 found' in printed
        assert "ended: answered" in printed
    assert watched.count("agent_turn") == 3

    asked = run("ask", "--debug", "--mode", "agent", "why did gate valve 8 close")
    turns_of = [one for one in asked.stderr.splitlines() if one.startswith("turn")]
    assert [re.findall(r"\d+", one)[0] for one in turns_of] == ["1", "2", "3"]
    assert ANSWER in asked.stdout
    assert "here:tiny" in asked.stdout
    assert "scores" in asked.stdout.splitlines()


def test_a_cancelled_agent_calls_nothing_any_more(world: World):
    world.server.hung_up.clear()
    world.server.asked.clear()
    first, *_ = TWO_CALLS_AND_ONE
    world.server.replies = [by_turn(first, goes_on(world.server.released))]
    job_id = world.submit(mode="agent")
    path = f"/v1/search/jobs/{job_id}"
    until(
        lambda: len(world.server.asked) == 2,
        within_seconds=20,
        what="the call of the second turn",
    )
    assert world.client.delete(path).json()["cancelled"]
    assert world.server.hung_up.wait(20)

    def ended() -> dict[str, Any] | None:
        job: dict[str, Any] = world.client.get(path).json()
        return job if job["turns"][-1]["exit_reason"] else None

    job = until(ended, within_seconds=20, what="the end of the last turn")
    assert (job["state"], job["cancelled"]) == ("partial", True)
    assert [one["exit_reason"] for one in job["turns"]] == [None, "cancelled"]
    assert job["turns"][-1]["tool_calls"] == []
    # What follows is another job's: nobody asks the model for this one again.
    world.server.replies = [by_turn(*TWO_CALLS_AND_ONE)]
    assert world.run(mode="agent")["state"] == "done"
    assert len(world.server.asked) == 2 + 3
    assert [one["turn"] for one in world.client.get(path).json()["turns"]] == [1, 2]


@pytest.mark.requirement("C33", "S3-59")
def test_ten_questions_of_several_parts_at_once_all_end(world: World):
    query = "gate valve and compressed air"
    ready = threading.Barrier(AT_ONCE + 1)

    def ask(body: dict[str, Any]) -> httpx2.Response:
        with world.system.client() as client:
            ready.wait(30)
            return client.post("/v1/search/query", json=body)

    bodies: list[dict[str, Any]] = [{"query": query, "mode": "agentic"}] * AT_ONCE
    # Somebody who searches beside them is answered, too.
    # A busy machine takes its time for eleven: as long as may be asked for.
    bodies.append({"query": query, "mode": "hybrid", "deadline_ms": 6000})
    with ThreadPoolExecutor(len(bodies)) as pool:
        answers = [*pool.map(ask, bodies)]

    assert [one.status_code for one in answers] == [200] * len(bodies)
    for one in answers:
        found = one.json()
        assert found["state"] == "done", found
        assert len(found["branches"]) <= MOST_BRANCHES
        assert [hit["external_id"] for hit in found["results"]] == ["OPS-2"]


@pytest.mark.requirement("C34", "S3-32")
def test_a_module_that_is_late_costs_each_mode_what_it_would_have_found(world: World):
    query = "gate valve and compressed air"
    headers = {"X-Logchord-Fault": "branch=semantic;delay_ms=60000"}
    world.server.replies = [by_turn(TWO_CALLS_AND_ONE[0], says(f"{ANSWER} [1.1]."))]
    with world.system.client(world.system.key(scopes=("admin", "search"))) as admin:
        bodies = {
            "agentic": {"mode": "agentic", "deadline_ms": 5000},
            # One call takes four seconds at most, whatever is left of the deadline.
            "agent": {"mode": "agent", "deadline_ms": 60_000},
        }
        for mode, body in bodies.items():
            job = admin.post(
                "/v1/search/jobs", json={"query": query, **body}, headers=headers
            ).json()
            path, wait = f"/v1/search/jobs/{job['job_id']}", {"wait_ms": 20_000}
            ended = admin.get(path, params=wait).json()
            assert ended["state"] == "partial", ended
            late = {
                one["name"]
                for one in ended["branches"]
                if one["status"] not in {"ok", "empty", "skipped"}
            }
            assert late == {"semantic"}, mode
            found = ended["response"]
            assert [hit["external_id"] for hit in found["results"]] == ["OPS-2"], mode
            assert found["degraded"], mode
    assert "The tool semantic failed" in found["answer"]
    assert ended["turns"][0]["tool_calls"][1]["status"] == "timeout"
