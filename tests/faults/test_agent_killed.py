"""Agents whose workers die: at the model's word, at a call, and before the end.

Each dies once a run, wherever the run is told to, and is started again at once. Counted
are finished turns that were done again, and calls of the model beyond those of a run in
which nobody died.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.size import times
from tests.support.fixtures.system import System
from tests.support.stub_servers.chat_server import (
    ChatScript,
    Reply,
    chatting,
    part,
    says,
    streams,
    usage,
)
from tests.support.waiting import until

pytestmark = [pytest.mark.patient, pytest.mark.timeout(900)]

JOBS = "/v1/search/jobs"
DEADLINE_SECONDS = 40.0
LATE_SECONDS = 5.0
RESUMED_WITHIN_SECONDS = 8.0
WORKERS = ("search", "answer")
# Where a worker dies, and which one: in the model's call, behind its word, in a call of
# a tool, in the body of the chord, and before the answer is stored.
PLACES = {
    "model": ("before_said", "answer"),
    "header": ("call_begun", "search"),
    "body": ("turn_claimed", "answer"),
    "end": ("before_store", "answer"),
}


def calls(query: str) -> Reply:
    given = {
        "index": 0,
        "id": "call_0",
        "function": {"name": "keyword", "arguments": json.dumps({"query": query})},
    }
    return streams(part(tool_calls=[given]), part(finish="tool_calls"), usage(30, 10))


def by_turn(*replies: Reply) -> Reply:
    """Reply by how far the conversation has come, however often it is asked."""

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        turn = sum(one["role"] == "assistant" for one in body["messages"])
        replies[turn](handler, body)

    return reply


@dataclass
class World:
    """A system with a scripted model, whose workers take orders."""

    system: System
    script: ChatScript
    orders: Orders
    client: httpx2.Client

    def run(self, place: str | None) -> dict[str, Any]:
        """Let an agent run, one of its workers die, and return its job."""
        self.script.asked.clear()
        self.script.replies[:] = [
            by_turn(
                calls("klystron"),
                calls("window"),
                says("The klystron tripped because its window was cracked [1.1]."),
            )
        ]
        deadline_ms = int(DEADLINE_SECONDS * 1000)
        body = {"query": "why did the klystron trip", "mode": "agent"}
        job_id = None
        if place is not None:
            # Whoever comes there first, before anybody can know which job it is.
            self.orders.kill(PLACES[place][0])
        answer = self.client.post(JOBS, json={**body, "deadline_ms": deadline_ms})
        assert answer.status_code == 202, answer.text
        job_id = answer.json()["job_id"]
        began = time.monotonic()
        if place is not None:
            self._follow(PLACES[place][1])
        ended = self._ended(job_id, began)
        return {**ended, "took": time.monotonic() - began}

    def _follow(self, worker: str) -> None:
        """Start the worker again that has died."""
        until(
            lambda: self.system.has_ended(worker),
            within_seconds=30,
            what=f"the end of {worker}",
        )
        self.system.kill(worker)
        start(self.system, self.orders, worker)

    def _ended(self, job_id: str, began: float) -> dict[str, Any]:
        while time.monotonic() - began < DEADLINE_SECONDS + LATE_SECONDS:
            job: dict[str, Any] = self.client.get(
                f"{JOBS}/{job_id}", params={"wait_ms": 5000}
            ).json()
            if job["ended_at"] is not None:
                return job
        message = f"job {job_id} did not end in time"
        raise AssertionError(message)


def start(system: System, orders: Orders, *names: str) -> None:
    system.start(*names, faulty={"checkpoints": str(orders.folder)})


@pytest.fixture
def world(make_system: Any, tmp_path: Path) -> Iterator[World]:
    with chatting(says("nothing")) as script:
        system = make_system(
            LOGCHORD_API__PROVIDERS=json.dumps({"here": {"base_url": script.url}}),
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
        )
        orders = Orders(tmp_path)
        system.start("api", "enhance", "embed", "upkeep")
        start(system, orders, *WORKERS)
        system.wait_ready("search", "answer", "enhance")
        with system.client(system.key(scopes=("admin",))) as client:
            entries = [
                {
                    "source": "api",
                    "external_id": f"E-{number}",
                    "text": text,
                    "entry_time": "2026-03-02T05:31:10Z",
                }
                for number, text in enumerate(
                    (
                        "The klystron tripped because its window was cracked.",
                        "The window was replaced on Monday.",
                    )
                )
            ]
            client.post("/v1/entries", json={"entries": entries}).raise_for_status()
            until(
                lambda: _is_found_by_all(client),
                within_seconds=90,
                what="the entries, by words and by meaning",
            )
            yield World(system, script, orders, client)


def _is_found_by_all(client: httpx2.Client) -> bool:
    """Whether both branches answer in time: the first question loads the encoder."""
    asked = {"query": "klystron window", "mode": "hybrid"}
    found = client.post("/v1/search/query", json=asked).json()
    return len(found["results"]) == 2 and {
        one["status"] for one in found["branches"]
    } == {"ok"}


def _check(world: World, place: str, unkilled: dict[str, Any], asked: int) -> None:
    job = world.run(place)
    assert job["state"] in {"done", "partial"}
    assert job["took"] < DEADLINE_SECONDS + LATE_SECONDS
    if job["state"] == "done":
        assert job["response"]["answer"] == unkilled["response"]["answer"]
    turns = job["turns"]
    # A turn that was done is taken by nobody again.
    assert [one["turn"] for one in turns] == [1, 2, 3]
    assert sum(one["repeated"] for one in turns) <= 1
    assert [one["tool_calls"][0]["args"] for one in turns[:2]] == [
        one["tool_calls"][0]["args"] for one in unkilled["turns"][:2]
    ]
    assert len(world.script.asked) <= asked + 1
    assert job["took"] - unkilled["took"] < RESUMED_WITHIN_SECONDS + 10


@pytest.mark.smoke
def test_an_agent_goes_on_when_the_worker_of_its_model_dies(world: World) -> None:
    unkilled = world.run(None)
    assert unkilled["state"] == "done", unkilled
    asked = len(world.script.asked)
    _check(world, "model", unkilled, asked)


@pytest.mark.slow
def test_an_agent_goes_on_wherever_a_worker_dies(world: World) -> None:
    unkilled = world.run(None)
    asked = len(world.script.asked)
    for place in PLACES:
        for _ in range(times(2, 50)):
            _check(world, place, unkilled, asked)
    with psycopg.connect(world.system.database) as conn:
        row = conn.execute(
            "SELECT count(*) FROM agent_turn WHERE state NOT IN ('done', 'ended')"
        ).fetchone()
    assert row == (0,)
