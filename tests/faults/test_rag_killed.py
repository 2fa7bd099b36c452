"""Answers from what is retrieved, whose workers die in each stage of their chord.

Each dies once a job and is started again at once. The job ends in time and has its
answer without a model, whatever becomes of its wording; the quota pays one call more at
most.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import redis

from shared.language_models import quota
from shared.messaging import redis_clients
from shared.settings.settings import Settings
from tests.support.faults.injected.checkpoints import ANY, Orders
from tests.support.faults.measures.size import QUICK_VECTORS, times
from tests.support.fixtures.system import System
from tests.support.model_world import CAUSE, QUESTION, words_it
from tests.support.stub_servers.chat_server import ChatScript, chatting, goes_on
from tests.support.waiting import ended_job, until

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(3600)]

JOBS = "/v1/search/jobs"
DEADLINE_SECONDS, LATE_SECONDS = 8.0, 5.0
PER_DAY = 100_000
FAULT = {"X-Logchord-Fault": "branch=semantic;delay_ms=60000"}
# Where a worker dies, and which one; beside a branch that is in and another that is
# not, and in mid-stream, it is killed from without.
PLACES = {
    "branch": (None, "search"),
    "answer": ("before_answer", "answer"),
    "prompt": ("before_model", "answer"),
    "stream": (None, "answer"),
    "worded": ("after_model", "answer"),
    "store": ("before_store", "answer"),
}
# Any job may be the first to come to these.
NAMELESS = frozenset({"before_store"})


@dataclass
class World:
    """A system with a scripted model, whose workers take orders."""

    system: System
    script: ChatScript
    orders: Orders
    client: httpx2.Client
    jobs: redis.Redis
    tenant: str

    def run(self, place: str) -> dict[str, Any]:
        """Ask, let a worker die there, and return the job with how long it took."""
        line, worker = PLACES[place]
        self.script.replies[:] = [
            goes_on(self.script.released) if place == "stream" else words_it
        ]
        if line in NAMELESS:
            self.orders.kill(line)
        elif line is not None:
            # Nothing comes to an answer before the job is known by its name.
            self.orders.hold("before_keep", ANY)
        body = {
            "query": QUESTION,
            "mode": "rag",
            "deadline_ms": int(DEADLINE_SECONDS * 1000),
        }
        headers = FAULT if place == "branch" else {}
        answer = self.client.post(JOBS, json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        job_id, began = str(answer.json()["job_id"]), time.monotonic()
        if line is not None and line not in NAMELESS:
            self.orders.kill(line, job_id)
            self.orders.let_go("before_keep", ANY)
        if place == "branch":
            until(
                lambda: self.jobs.hexists(f"job:{job_id}", "outcome:0"),
                within_seconds=5,
                what="the branch that is not delayed",
            )
        elif place == "stream":
            self._await_chunk(job_id)
        else:
            until(
                lambda: self.system.has_ended(worker),
                within_seconds=20,
                what=f"the end of {worker} at {line}",
            )
        self.system.kill(worker)
        start(self.system, self.orders, worker)
        ended = ended_job(self.client, job_id, began + DEADLINE_SECONDS + LATE_SECONDS)
        (self.orders.folder / "before_keep" / f"{ANY}.go").unlink(missing_ok=True)
        return {**ended, "took": time.monotonic() - began}

    def left(self) -> int:
        """Return how many answers the quota has left."""
        return quota.left_answers(self.jobs, self.tenant, PER_DAY, PER_DAY)

    def _await_chunk(self, job_id: str) -> None:
        with self.client.stream("GET", f"{JOBS}/{job_id}/events") as events:
            assert any(line == "event: llm_chunk" for line in events.iter_lines())


def start(system: System, orders: Orders, *names: str) -> None:
    system.start(*names, faulty={"checkpoints": str(orders.folder)})
    system.wait_ready(*names)


@pytest.fixture(scope="module")
def world(make_lasting_system, tmp_path_factory) -> Iterator[World]:
    with chatting(words_it) as script:
        system = make_lasting_system(
            LOGCHORD_API__PROVIDERS=json.dumps({"here": {"base_url": script.url}}),
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
            LOGCHORD_SYNTHESIS__QUOTA_PER_DAY=str(PER_DAY),
            LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE=str(PER_DAY),
            LOGCHORD_FAULT_INJECTION="true",
            **QUICK_VECTORS,
        )
        orders = Orders(tmp_path_factory.mktemp("orders"))
        system.start("api", "enhance", "embed", "upkeep")
        start(system, orders, "search", "answer")
        system.wait_ready("enhance")
        jobs = redis_clients.jobs_redis(Settings.load(system.environment))
        with system.client(system.key(scopes=("admin",))) as client:
            entry = {"external_id": "OPS-2", "text": CAUSE, "title": "Gate valve 8"}
            client.post("/v1/entries", json=entry).raise_for_status()
            asked = {"query": "gate valve", "mode": "keyword"}
            until(
                lambda: client.post("/v1/search/query", json=asked).json()["results"],
                within_seconds=60,
                what="the words of the entry",
            )
            yield World(system, script, orders, client, jobs, "default")
        jobs.close()


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("stage", PLACES)
def test_an_answer_stands_wherever_a_worker_of_its_chord_dies(world: World, stage: str):
    for _ in range(times(2, 10)):
        left = world.left()
        job = world.run(stage)
        assert job["state"] in {"done", "partial"}, job
        assert job["took"] < DEADLINE_SECONDS + LATE_SECONDS
        response = job["response"]
        assert "sagged to 3 bar" in response["answer"], job
        assert [one["external_id"] for one in response["results"]] == ["OPS-2"]
        # Where the job was begun anew, its model may be asked twice, and no more.
        assert left - world.left() <= 2
    assert world.orders.left() == []
