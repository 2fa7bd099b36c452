"""F26 and F27 for the group: branches, and the state of a fan-out, are lost."""

from __future__ import annotations

import base64
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest
import redis

from shared.messaging import redis_clients
from shared.settings.settings import Settings
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import QUICK_VECTORS, SEED, times
from tests.support.fixtures.system import System
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(600)]

QUERY, JOBS = "/v1/search/query", "/v1/search/jobs"
FAULT = "X-Logchord-Fault"
# P8: how long after its deadline a search may be without an end.
LATE_SECONDS = 5.0
SEARCHES = times(20, 260)
WORKERS = ("search", "search-2")
# As many as two workers have threads for, with some left for the quick branches.
AT_ONCE = 10
DROPPED_AT_ONCE = 16
FAMILIES = ("keyword", "semantic")
MODULES = {"keyword": "pg_fts", "semantic": "semantic"}
FOUND, MISSING = frozenset({"ok"}), frozenset({"timeout", "error"})


@dataclass(frozen=True)
class End:
    """How a search ended: its state, what its branches said, and how late it was."""

    state: str
    branches: dict[str, str]
    late_s: float


class Asker:
    """Asks searches that find something in each branch, and notes how they end."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._pool = ThreadPoolExecutor(64)
        self._client = system.client(system.key(scopes=("admin",)))
        self.waiting: list[Future[End]] = []
        settings = Settings.load({"BROKER_URL": system.environment["SEARCH_REDIS_URL"]})
        self.redis: redis.Redis = redis_clients.jobs_redis(settings)

    def close(self) -> None:
        """Let go of everything."""
        self._pool.shutdown(cancel_futures=True)
        self._client.close()
        self.redis.close()

    def ask(self, count: int, *, deadline_s: float, fault: str | None = None) -> None:
        """Have so many searches in flight: one half awaited, the other submitted."""
        headers = {FAULT: fault} if fault else {}
        body = {
            "query": "beam dump",
            "mode": "hybrid",
            "deadline_ms": int(deadline_s * 1000),
        }
        for number in range(count):
            step = self._wait if number % 2 else self._look_after
            self.waiting.append(self._pool.submit(step, body, headers))

    def in_flight(self) -> dict[str, set[int]]:
        """Return the branches that are in, by the id of each job."""
        found = {}
        for name in self.redis.scan_iter("job:*", count=1000):
            fields = [str(field) for field in self.redis.hkeys(name)]
            found[str(name).removeprefix("job:")] = {
                int(field.removeprefix("outcome:"))
                for field in fields
                if field.startswith("outcome:")
            }
        return found

    def forget(self) -> None:
        """Forget what is in flight, once it has ended."""
        self.redis.flushdb()

    def ends(self) -> list[End]:
        """Return how those asked since last time ended."""
        ended = [one.result(timeout=60) for one in self.waiting]
        self.waiting.clear()
        return ended

    def _wait(self, body: dict[str, Any], headers: dict[str, str]) -> End:
        began = time.monotonic()
        answer = self._client.post(QUERY, json=body, headers=headers)
        late = time.monotonic() - began - body["deadline_ms"] / 1000
        return _end(answer, late)

    def _look_after(self, body: dict[str, Any], headers: dict[str, str]) -> End:
        began = time.monotonic()
        accepted = self._client.post(JOBS, json=body, headers=headers)
        assert accepted.status_code == 202, accepted.text
        path = accepted.json()["links"]["self"]
        answer = self._client.get(path, params={"wait_ms": 15_000})
        late = time.monotonic() - began - body["deadline_ms"] / 1000
        return _end(answer, late)


def _end(answer: httpx2.Response, late_s: float) -> End:
    told = answer.json()
    if error := told.get("error"):
        # A direct search that failed; a job has its branches in any case.
        branches = told.get("branches") or error["details"]["branches"]
        return End("failed", _statuses(branches), late_s)
    return End(told["state"], _statuses(told["branches"]), late_s)


def _statuses(branches: list[dict[str, Any]]) -> dict[str, str]:
    return {branch["name"]: branch["status"] for branch in branches}


def summed_up(experiment: str, ends: list[End]) -> None:
    """Print the line of an experiment, and hold what every search must."""
    states = dict(sorted(Counter(end.state for end in ends).items()))
    latest = max(end.late_s for end in ends)
    print(
        f"\n{experiment} seed={SEED} searches={len(ends)} states={states}"
        f" latest_after_deadline_s={latest:.2f}"
    )
    assert len(ends) == SEARCHES
    assert latest < LATE_SECONDS
    assert {end.state for end in ends} <= {"done", "partial", "failed"}
    assert not [end for end in ends if "empty" in end.branches.values()]


def assert_lacks(end: End, family: str) -> None:
    """Assert that this branch is named as missing, and the other one is in."""
    other = next(one for one in FAMILIES if one != family)
    assert end.state == "partial", end
    assert end.branches[MODULES[family]] in MISSING, end
    assert end.branches[MODULES[other]] in FOUND, end


@pytest.fixture
def system(make_system: Callable[..., System]) -> System:
    """A logbook on Postgres alone, whose searches need nobody else."""
    made = make_system(**QUICK_VECTORS, LOGCHORD_FAULT_INJECTION="true")
    made.environment["SEARCH_REDIS_URL"] = made.environment["BROKER_URL"]
    made.start("api", "enhance", "embed", "upkeep")
    made.wait_ready("enhance", "embed", "upkeep")
    with made.client() as client:
        entries = [
            {"source": "api", "external_id": str(n), "text": f"Beam dump number {n}"}
            for n in range(5)
        ]
        path = "/v1/entries?wait_for=index"
        assert client.post(path, json={"entries": entries}).is_success
    wait_until_done(made)
    made.kill("enhance")
    made.kill("embed")
    return made


def wait_until_done(system: System) -> None:
    """Return once nothing is due any more."""

    def drained() -> bool:
        with psycopg.connect(system.database) as conn:
            return conn.execute("SELECT count(*) FROM work").fetchone() == (0,)

    until(drained, within_seconds=30, what="five entries in both branches")


@contextmanager
def asking(system: System) -> Iterator[Asker]:
    asker = Asker(system)
    try:
        yield asker
    finally:
        asker.close()


def start_search(system: System, asker: Asker, *names: str, **options: Any) -> None:
    """Start workers, and return once each takes messages and a search is done."""
    before = {name: _ready(system, name) for name in names}
    for name in names:
        system.start(name, command="search", **options)
    until(
        lambda: all(_ready(system, name) > before[name] for name in names),
        within_seconds=60,
        what=f"workers\n{system.tail(names[0])}",
    )

    def answers() -> bool:
        asker.ask(len(names), deadline_s=2)
        return all(end.state == "done" for end in asker.ends())

    until(answers, within_seconds=30, what=f"a search\n{system.tail(names[0])}")
    asker.forget()


def _ready(system: System, name: str) -> int:
    log = system.logs / f"{name}.log"
    return log.read_text("utf-8").count("worker_ready") if log.exists() else 0


def reached(probe: Callable[[], bool], *, within_seconds: float) -> bool:
    """Tell whether a round is set up in time; on a busy machine it is repeated."""
    try:
        return until(probe, within_seconds=within_seconds)
    except AssertionError:
        return False


def rounds(count: int) -> Iterator[int]:
    """Number the rounds, those to be repeated too; fail when too many were."""
    yield from range(3 * count)
    pytest.fail(f"of {3 * count} rounds too few could be set up in time")


@pytest.mark.requirement("F26", "P8", "U05")
def test_searches_end_partial_when_the_worker_dies_that_runs_one_branch(system):
    ends: list[End] = []
    with asking(system) as asker:
        for turn in rounds(SEARCHES // AT_ONCE):
            lost = turn % 2
            start_search(system, asker, *WORKERS)
            fault = f"branch={FAMILIES[lost]};delay_ms=60000"
            asker.ask(AT_ONCE, deadline_s=4, fault=fault)
            others = [{1 - lost}] * AT_ONCE
            is_set_up = reached(
                lambda others=others: list(asker.in_flight().values()) == others,
                within_seconds=3,
            )
            for name in WORKERS:
                system.kill(name)
            some = asker.ends()
            assert max(end.late_s for end in some) < LATE_SECONDS
            if not is_set_up:
                continue
            for end in some:
                assert_lacks(end, FAMILIES[lost])
            ends += some
            if len(ends) == SEARCHES:
                break

    summed_up("F26 worker killed", ends)


@pytest.mark.requirement("F26", "P8")
def test_searches_end_partial_when_the_message_of_one_branch_is_dropped(
    system, make_proxy
):
    cuts = times(4, 20)
    ends: list[End] = []
    link = make_proxy(system.environment["BROKER_URL"])
    queues = Queues(system)
    with asking(system) as asker:
        start_search(system, asker, "search", BROKER_URL=link.url)
        for _ in rounds(cuts):
            # The answer to the pending pop vanishes, and its message with it.
            link.drop_s2c(on=True)
            asker.ask(1, deadline_s=4)
            # A pop is pending for a second; whoever comes later finds none.
            is_popped = reached(
                lambda: bool(asker.in_flight()) and queues.length("search") == 1,
                within_seconds=1,
            )
            link.cut(mended=True)
            some = asker.ends()
            assert some[0].late_s < LATE_SECONDS
            asker.forget()
            if not is_popped:
                continue
            assert_lacks(some[0], "keyword")
            ends += some
            if len(ends) == cuts:
                break
        lacking: list[End] = []
        for _ in range((SEARCHES - cuts) // DROPPED_AT_ONCE):
            with system.frozen("search"):
                until(lambda: nobody_pops(queues), within_seconds=5, what="no pop")
                asker.ask(DROPPED_AT_ONCE, deadline_s=6)
                until(
                    lambda: queues.length("search") == 2 * DROPPED_AT_ONCE,
                    within_seconds=4,
                    what="every message of every search",
                )
                drop_one_of_each(queues)
            lacking += asker.ends()
    missing = Counter(
        family
        for end in lacking
        for family in FAMILIES
        if end.branches[MODULES[family]] in MISSING
    )
    for end in lacking:
        assert_lacks(end, next(f for f in FAMILIES if end.branches[MODULES[f]] != "ok"))

    summed_up("F26 message dropped", ends + lacking)
    assert sum(missing.values()) == len(lacking)
    assert set(missing) == set(FAMILIES)
    queues.close()


def nobody_pops(queues: Queues) -> bool:
    """Tell whether no worker waits for a message just now."""
    clients: list[dict[str, str]] = queues.redis.client_list()
    return not [c for c in clients if c["cmd"] == "brpop" and "b" in c["flags"]]


def drop_one_of_each(queues: Queues) -> None:
    """Remove the message of one branch of every search, by turns of either branch."""
    dropped: dict[str, int] = {}
    for message in queues.raw("search"):
        job_id, number = arguments(message)
        lost = dropped.setdefault(job_id, len(dropped) % 2)
        if number == lost:
            removed = queues.redis.lrem("search", 1, message)  # type: ignore[arg-type]
            assert removed == 1


@pytest.mark.requirement("F26", "P8")
def test_searches_end_when_the_last_branch_dies_before_it_answers(system, tmp_path):
    ends: list[End] = []
    orders = Orders(tmp_path)
    with asking(system) as asker:
        for _ in rounds(SEARCHES // AT_ONCE):
            start_search(system, asker, *WORKERS, faulty={"checkpoints": str(tmp_path)})
            asker.ask(AT_ONCE, deadline_s=5, fault="branch=semantic;delay_ms=1500")
            are_asked = reached(
                lambda: len(asker.in_flight()) == AT_ONCE, within_seconds=1.4
            )
            jobs = list(asker.in_flight())
            for job in jobs:
                orders.hold("before_answer", job)
            is_set_up = are_asked and reached(
                lambda jobs=jobs: all(orders.taken("before_answer", j) for j in jobs),
                within_seconds=3,
            )
            for name in WORKERS:
                system.kill(name)
            some = asker.ends()
            assert max(end.late_s for end in some) < LATE_SECONDS
            if not is_set_up:
                continue
            ends += some
            if len(ends) == SEARCHES:
                break

    # Both branches are in, whoever ranks them now.
    assert {tuple(end.branches.values()) for end in ends} == {("ok", "ok")}
    assert {end.state for end in ends} <= {"done", "partial"}
    summed_up("F26 last branch killed", ends)


@pytest.mark.requirement("F27", "P8", "U14")
def test_searches_end_when_the_state_of_the_fan_out_is_flushed(system):
    chance = random.Random(SEED)
    ends: list[End] = []
    with asking(system) as asker:
        start_search(system, asker, *WORKERS)
        while len(ends) < SEARCHES:
            asker.ask(10, deadline_s=2, fault="branch=semantic;delay_ms=600")
            # Before the branches, between the two, or with all of them in.
            moment = time.monotonic() + chance.uniform(0.05, 1.5)
            until(lambda m=moment: time.monotonic() > m, within_seconds=3)
            asker.forget()
            ends += asker.ends()

    summed_up("F27", ends)
    for end in ends:
        gone = [name for name, said in end.branches.items() if said != "ok"]
        assert (end.state == "done") == (not gone), end
        assert all(end.branches[name] in MISSING for name in gone), end


def arguments(message: bytes | str) -> tuple[str, int]:
    """Return the job and the branch that a message is about."""
    body = json.loads(base64.b64decode(json.loads(message)["body"]))
    job_id, number = body[0]
    return str(job_id), int(number)
