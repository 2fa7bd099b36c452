"""Searches that lose a branch, or the state of their fan-out; each must end in time."""

import base64
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
import pytest
import redis

from shared.messaging import redis_clients
from shared.settings.settings import Settings
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import SEED, times
from tests.support.fixtures.system import System
from tests.support.waiting import ended_job, until

QUERY, JOBS = "/v1/search/query", "/v1/search/jobs"
FAULT = "X-Logchord-Fault"
# P8: how long after its deadline a search may be without an end.
LATE_SECONDS = 5.0
SEARCHES = times(20, 100)
WORKERS = ("search", "search-2")
# As many as two workers have threads for, with some left for the quick branches.
AT_ONCE = 10
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

    def __init__(self, system: System, mode: str) -> None:
        self.system = system
        self._mode = mode
        self._pool = ThreadPoolExecutor(64)
        self._client = system.client(system.key(scopes=("admin",)))
        self.waiting: list[Future[End]] = []
        names = {"BROKER_URL", "SEARCH_REDIS_URL"} & system.environment.keys()
        settings = Settings.load({name: system.environment[name] for name in names})
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
            "mode": self._mode,
            "modules": list(FAMILIES),
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
        return _end(answer.json(), late)

    def _look_after(self, body: dict[str, Any], headers: dict[str, str]) -> End:
        began = time.monotonic()
        accepted = self._client.post(JOBS, json=body, headers=headers)
        assert accepted.status_code == 202, accepted.text
        path = accepted.json()["links"]["self"]
        job = ended_job(
            self._client,
            path.rpartition("/")[2],
            began + body["deadline_ms"] / 1000 + 2 * LATE_SECONDS,
        )
        # Whoever looks late at it, on a busy machine, does not make it late.
        ended, due = (
            datetime.fromisoformat(job[at]) for at in ("ended_at", "deadline_at")
        )
        return _end(job, (ended - due).total_seconds())


def _end(told: dict[str, Any], late_s: float) -> End:
    if error := told.get("error"):
        # A direct search that failed; a job has its branches in any case, and one that
        # could not be sent in time has none.
        branches = told.get("branches") or error.get("details", {}).get("branches", [])
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


def were_sent(ends: list[End]) -> bool:
    """Tell whether every search was sent in time, so that it tells its branches."""
    return all(end.branches for end in ends)


def assert_lacks(end: End, family: str) -> None:
    """Assert that this branch is named as missing, and the other one is in."""
    other = next(one for one in FAMILIES if one != family)
    assert end.state == "partial", end
    assert end.branches[MODULES[family]] in MISSING, end
    assert end.branches[MODULES[other]] in FOUND, end


@contextmanager
def asking(system: System, mode: str = "hybrid") -> Iterator[Asker]:
    """Ask in one mode, until the end of the block."""
    asker = Asker(system, mode)
    try:
        yield asker
    finally:
        asker.close()


def start_search(system: System, asker: Asker, *names: str, **options: Any) -> None:
    """Start workers, and return once each takes messages and a search is done."""
    before = {name: _ready(system, name) for name in names}
    for name in names:
        system.start(name, command=name.partition("-")[0], **options)
    until(
        lambda: all(_ready(system, name) > before[name] for name in names),
        within_seconds=60,
        what=lambda: f"workers\n{system.tail(names[0])}",
    )

    def answers() -> bool:
        asker.ask(len(names), deadline_s=6)
        return all(end.state == "done" for end in asker.ends())

    until(
        answers, within_seconds=180, what=lambda: f"a search\n{system.tail(names[0])}"
    )
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


def fill(system: System) -> None:
    """Write a logbook that both branches of a search find something in."""
    system.bring_up("api", "enhance", "embed", "upkeep")
    with system.client() as client:
        entries = [
            {"source": "api", "external_id": str(n), "text": f"Beam dump number {n}"}
            for n in range(5)
        ]
        path = "/v1/entries?wait_for=index"
        assert client.post(path, json={"entries": entries}).is_success

    def drained() -> bool:
        with psycopg.connect(system.database) as conn:
            return conn.execute("SELECT count(*) FROM work").fetchone() == (0,)

    until(drained, within_seconds=60, what="five entries in both branches")
    system.kill("enhance")
    system.kill("embed")


def kill_workers(
    system: System, asker: Asker, *, deadline_s: float, set_up_s: float
) -> list[End]:
    """Kill the workers that run one branch of each search; return how these ended."""
    ends: list[End] = []
    for turn in rounds(SEARCHES // AT_ONCE):
        lost = turn % 2
        start_search(system, asker, *WORKERS)
        fault = f"branch={FAMILIES[lost]};delay_ms=60000"
        asker.ask(AT_ONCE, deadline_s=deadline_s, fault=fault)
        others = [{1 - lost}] * AT_ONCE
        is_set_up = reached(
            lambda others=others: list(asker.in_flight().values()) == others,
            within_seconds=set_up_s,
        )
        for name in WORKERS:
            system.kill(name)
        some = asker.ends()
        assert max(end.late_s for end in some) < LATE_SECONDS
        if not is_set_up or not were_sent(some):
            continue
        for end in some:
            assert_lacks(end, FAMILIES[lost])
        ends += some
        if len(ends) == SEARCHES:
            break
    return ends


def hold_answers(
    asker: Asker, orders: Orders, count: int, *, asked_s: float, held_s: float
) -> bool:
    """Hold so many searches before their answer; tell whether all are, in time."""
    are_asked = reached(lambda: len(asker.in_flight()) == count, within_seconds=asked_s)
    jobs = list(asker.in_flight())
    for job in jobs:
        orders.hold("before_answer", job)
    return are_asked and reached(
        lambda: all(orders.taken("before_answer", job) for job in jobs),
        within_seconds=held_s,
    )


def assert_missing_are_told(ends: list[End]) -> None:
    """Assert that each search is done, or says which of its branches it lacks."""
    for end in ends:
        gone = [name for name, said in end.branches.items() if said != "ok"]
        assert (end.state == "done") == (not gone), end
        assert all(end.branches[name] in MISSING for name in gone), end


def nobody_pops(queues: Queues) -> bool:
    """Tell whether no worker waits for a message just now."""
    clients: list[dict[str, str]] = queues.redis.client_list()
    return not [c for c in clients if c["cmd"] == "brpop" and "b" in c["flags"]]


def drop_one_of_each(queues: Queues, queue: str = "search") -> None:
    """Remove the message of one branch of every search, by turns of either branch."""
    dropped: dict[str, int] = {}
    for message in queues.raw(queue):
        job_id, number = arguments(message)
        lost = dropped.setdefault(job_id, len(dropped) % 2)
        if number == lost:
            removed = queues.redis.lrem(queue, 1, message)  # type: ignore[arg-type]
            assert removed == 1


def arguments(message: bytes | str) -> tuple[str, int]:
    """Return the job and the branch that a message is about."""
    body = json.loads(base64.b64decode(json.loads(message)["body"]))
    job_id, number = body[0]
    return str(job_id), int(number)
