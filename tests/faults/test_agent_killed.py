"""Agents whose workers die: while the model speaks, at a call, and before the end.

Each dies once a run and is started again at once, as its supervisor does. Counted are
the times that the model was asked, by turn, and the times that each tool was begun: of
both, what was under way at the death alone is done once more.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest
import redis

from shared.messaging import redis_clients
from shared.search.jobs import progress
from shared.settings.settings import Settings
from tests.support.agent_runner import call, calls
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.size import times
from tests.support.fixtures.system import Factory, System
from tests.support.stub_servers.chat_server import ChatScript, chatting, goes_on, says
from tests.support.waiting import ended_job, until

pytestmark = [pytest.mark.patient, pytest.mark.timeout(3000)]

JOBS = "/v1/search/jobs"
DEADLINE_SECONDS = 60.0
LATE_SECONDS = 5.0
RESUMED_WITHIN_SECONDS = 8.0
WORKERS = ("search", "answer")
# Each death waits for a lease: side by side they take a third of the time.
WORLDS = 3
# Where a worker dies, which one, and behind which reply of the model: with the model's
# word not kept, at the begin of a call, with one call kept of several, in the body of
# the chord, and before the answer is stored.
PLACES = {
    "word": ("before_said", "answer", 1),
    "header": ("call_begun", "search", 1),
    "kept": ("after_keep", "search", 1),
    "body": ("turn_claimed", "answer", 0),
    "end": ("before_store", "answer", 2),
}
# In the middle of the model's second reply; nobody dies at a line of ours.
MODEL = "model"
REPLIES = (
    calls(
        call("keyword", query="klystron"),
        call("filter_values", place=1, field="source"),
        call("parse_time", place=2, text="last night"),
    ),
    calls(
        call("semantic", query="the window of the klystron"),
        call("get_entry", place=1, ref="E-0"),
        call("get_thread", place=2, ref="E-1"),
    ),
    says("The klystron tripped because its window was cracked [1.1]."),
)
FIRST = ("keyword", "filter_values", "parse_time")
SECOND = ("semantic", "get_entry", "get_thread")
TOOLS = FIRST + SECOND
ONCE = Counter(TOOLS)


@dataclass
class Run:
    """How an agent's job ended, and what was done for it."""

    job: dict[str, Any]
    took: float
    # By turn, how often the model was asked; by tool, how often it was begun.
    asked: Counter[int]
    begun: Counter[str]
    # Whose outcomes were kept when the worker died.
    kept: frozenset[str] = frozenset()
    # From the death to the first sign of somebody who goes on.
    resumed_seconds: float = 0.0

    @property
    def trace(self) -> list[dict[str, Any]]:
        """Return the turns without what a death may change: times, and takings-up."""
        return [
            {
                **turn,
                "took_ms": None,
                "repeated": None,
                "tool_calls": [{**o, "took_ms": None} for o in turn["tool_calls"]],
            }
            for turn in self.job["turns"]
        ]


@dataclass
class World:
    """A system with a scripted model, whose workers take orders."""

    system: System
    script: ChatScript
    orders: Orders
    client: httpx2.Client
    redis: redis.Redis
    place: str | None = None
    speaking: threading.Event = field(default_factory=threading.Event)

    def reply(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Reply by how far the conversation has come, and order a death behind it."""
        turn = sum(one["role"] == "assistant" for one in body["messages"])
        if self.place == MODEL and turn == 1 and not self.speaking.is_set():
            self.speaking.set()
            goes_on(self.script.released)(handler, body)
            return
        if self.place in PLACES and PLACES[self.place][2] == turn:
            name, self.place = PLACES[self.place][0], None
            self.orders.kill(name)
        REPLIES[turn](handler, body)

    def run(self, place: str | None) -> Run:
        """Let an agent run, one of its workers die, and return how it ended."""
        self.script.asked.clear()
        self.speaking.clear()
        self.script.replies[:] = [self.reply]
        self.place = place
        body = {"query": "why did the klystron trip", "mode": "agent"}
        asked = {**body, "deadline_ms": int(DEADLINE_SECONDS * 1000)}
        answer = self.client.post(JOBS, json=asked)
        assert answer.status_code == 202, answer.text
        job_id, began = str(answer.json()["job_id"]), time.monotonic()
        kept: frozenset[str] = frozenset()
        resumed = 0.0
        if place is not None:
            kept, resumed = self._die(job_id, place)
        job = ended_job(self.client, job_id, began + DEADLINE_SECONDS + LATE_SECONDS)
        took = time.monotonic() - began
        turns = Counter(
            1 + sum(message["role"] == "assistant" for message in one["messages"])
            for one in self.script.asked
        )
        begun = Counter(self._told(job_id, "branch_started"))
        return Run(job, took, turns, begun, kept, resumed)

    def _die(self, job_id: str, place: str) -> tuple[frozenset[str], float]:
        """Let the worker die, and start it; return what was kept, and the pause."""
        worker = "answer" if place == MODEL else PLACES[place][1]
        if place == MODEL:
            until(self.speaking.is_set, within_seconds=30, what="the second reply")
        else:
            until(
                lambda: self.system.has_ended(worker),
                within_seconds=30,
                every_seconds=0.01,
                what=f"the end of {worker}",
            )
        self.system.kill(worker)
        died, found = time.monotonic(), self._standing(job_id)
        kept = frozenset(self._told(job_id, "branch_done"))
        start(self.system, self.orders, worker)
        until(
            lambda: self._standing(job_id) != found,
            within_seconds=DEADLINE_SECONDS,
            what="somebody who goes on",
        )
        return kept, time.monotonic() - died

    def _standing(self, job_id: str) -> list[Any]:
        """Return what changes with whoever takes a turn up, or ends the job."""
        with psycopg.connect(self.system.database) as conn:
            return conn.execute(
                "SELECT j.ended_at, t.turn_no, t.state, t.repeated, t.lease_until"
                "  FROM job j LEFT JOIN agent_turn t ON t.job_id = j.id"
                " WHERE j.id = %s ORDER BY t.turn_no",
                (job_id,),
            ).fetchall()

    def _told(self, job_id: str, name: str) -> list[str]:
        events = progress.read_progress(self.redis, UUID(job_id)).events
        return [one.says["name"] for one in events if one.name == name]


def start(system: System, orders: Orders, *names: str) -> None:
    system.start(*names, faulty={"checkpoints": str(orders.folder)})


@contextmanager
def start_world(make_system: Factory, folder: Path) -> Iterator[World]:
    """Start a system with two entries, whose orders lie in this folder."""
    with chatting(says("nothing")) as script:
        system = make_system(
            LOGCHORD_API__PROVIDERS__HERE__BASE_URL=script.url,
            LOGCHORD_REASONING__PROVIDER="here",
            LOGCHORD_REASONING__MODEL_ID="tiny",
            LOGCHORD_SYNTHESIS__QUOTA_PER_DAY="10000",
            LOGCHORD_SYNTHESIS__QUOTA_PER_MINUTE="10000",
            EMBEDDING_MODEL="hashing-384",
        )
        orders = Orders(folder)
        system.start("api", "enhance", "embed", "upkeep")
        start(system, orders, *WORKERS)
        system.wait_ready("search", "answer", "enhance")
        settings = Settings.load({"BROKER_URL": system.environment["BROKER_URL"]})
        broker = redis_clients.jobs_redis(settings)
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
            yield World(system, script, orders, client, broker)


@pytest.fixture
def world(make_system: Factory, tmp_path: Path) -> Iterator[World]:
    with start_world(make_system, tmp_path) as made:
        yield made


def _is_found_by_all(client: httpx2.Client) -> bool:
    """Whether both branches answer in time: the first question loads the encoder."""
    asked = {"query": "klystron window", "mode": "hybrid"}
    found = client.post("/v1/search/query", json=asked).json()
    return len(found["results"]) == 2 and {
        one["status"] for one in found["branches"]
    } == {"ok"}


def _check_unkilled(run: Run) -> None:
    assert run.job["state"] == "done", run.job
    assert (run.asked, run.begun) == (Counter((1, 2, 3)), ONCE)
    assert [one["repeated"] for one in run.job["turns"]] == [0, 0, 0]


def _check(run: Run, place: str, unkilled: Run) -> None:
    # It ends as if nobody had died, before its deadline.
    assert run.job["state"] == "done", (place, run.job)
    assert run.took < DEADLINE_SECONDS + LATE_SECONDS
    assert run.job["response"]["answer"] == unkilled.job["response"]["answer"]
    assert run.trace == unkilled.trace
    # The model is asked once more for the word that was lost with the worker.
    lost = {MODEL: 1, "word": 1}.get(place, 0)
    assert run.asked == Counter({1: 1, 2: 1 + lost, 3: 1}), place
    # A call is begun once more if it was under way, and never if it was kept.
    again = {tool: count - 1 for tool, count in run.begun.items() if count > 1}
    assert run.begun.keys() == ONCE.keys()
    assert not again.keys() & run.kept, (place, again, run.kept)
    if PLACES.get(place, ("", ""))[1] == "search":
        assert set(again) <= set(SECOND), (place, again)
        assert max(again.values(), default=0) <= 1, (place, again)
        assert len(run.kept) > len(FIRST) or place == "header", run.kept
    else:
        assert not again, (place, again)


@pytest.mark.requirement("P8")
def test_a_worker_that_dies_while_its_model_speaks_is_followed(world: World):
    unkilled = world.run(None)
    _check_unkilled(unkilled)
    killed = world.run(MODEL)
    _check(killed, MODEL, unkilled)
    assert [one["repeated"] for one in killed.job["turns"]] == [0, 1, 0]


@pytest.mark.slow
def test_an_agent_goes_on_wherever_a_worker_dies(make_system: Factory, tmp_path: Path):
    print("\nplace   runs  asked more  begun more  resumed, longest")
    done = []
    with ExitStack() as stack, ThreadPoolExecutor(WORLDS) as pool:
        for number in range(WORLDS):
            folder = tmp_path / str(number)
            folder.mkdir()
            world = stack.enter_context(start_world(make_system, folder))
            places = (MODEL, *PLACES)[number::WORLDS]
            done.append(pool.submit(die_at_each, world, places))
        for one in done:
            one.result()


def die_at_each(world: World, places: Iterable[str]) -> None:
    """Let agents run in one system, each of which loses a worker at its place."""
    unkilled = world.run(None)
    _check_unkilled(unkilled)
    for place in places:
        runs = [world.run(place) for _ in range(times(2, 50))]
        for one in runs:
            _check(one, place, unkilled)
        resumed = max(one.resumed_seconds for one in runs)
        more = sum(one.asked.total() - 3 for one in runs)
        begun = sum(one.begun.total() - len(TOOLS) for one in runs)
        print(f"{place:<8}{len(runs):>4}{more:>12}{begun:>12}{resumed:>16.1f} s")
        assert resumed < RESUMED_WITHIN_SECONDS, place
    with psycopg.connect(world.system.database) as conn:
        row = conn.execute(
            "SELECT count(*) FROM agent_turn WHERE state NOT IN ('done', 'ended')"
        ).fetchone()
    assert row == (0,)


@pytest.mark.slow
def test_a_redis_that_is_emptied_in_a_turn_costs_no_turn_that_is_over(world: World):
    unkilled = world.run(None)
    for _ in range(times(2, 20)):
        # Emptied while the model speaks: the turn's calls, and its job, are gone.
        emptied = threading.Event()

        def reply(
            handler: BaseHTTPRequestHandler,
            body: dict[str, Any],
            emptied: threading.Event = emptied,
        ) -> None:
            if len(world.script.asked) == 2:
                world.redis.flushall()
                emptied.set()
            turn = sum(one["role"] == "assistant" for one in body["messages"])
            REPLIES[turn](handler, body)

        world.reply = reply  # type: ignore[method-assign]
        run = world.run(None)
        assert emptied.is_set()
        assert run.job["state"] == "done", run.job
        assert run.job["response"]["answer"] == unkilled.job["response"]["answer"]
        assert run.trace == unkilled.trace
        assert run.asked == Counter((1, 2, 3))
        # What was told before is gone with the stream; what follows is told once.
        assert max(run.begun.values()) == 1
