"""The spine's speed: a Redis list, one Celery task, and the fan-out through HTTP."""

import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import httpx2
from rich.console import Console
from rich.table import Table

from bench.keep_results import keep_results
from bench.rig import Rig, rig
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.messaging import fan_out, redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.celery_app import make_app
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job
from shared.search.query.fault import Fault
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan

SAMPLES, WARM_UP = 200, 50
# Isolated requests, as a reader's are: the last one's store has ended by then.
PAUSE_SECONDS = 0.02
CLIENTS = (1, 16)
THROUGHPUT_SECONDS = 5.0
AIM_P50_MS, AIM_P95_MS = 10.0, 15.0


@dataclass(frozen=True)
class Timing:
    """What one kind of round trip took."""

    name: str
    p50_ms: float
    p95_ms: float
    # Of each part of the stack, for one round trip.
    cpu_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Throughput:
    """How many searches a second so many clients got."""

    clients: int
    per_second: float


def main() -> None:
    """Measure on a stack of our own, print a table, keep the numbers as JSON."""
    commands = (("serve", "api"), ("serve", "worker", "search"))
    # Nobody calls OpenSearch here: both branches are emptied before they search.
    unused = {
        "OPENSEARCH_URL": "http://127.0.0.1:9",
        "LOGCHORD_FAULT_INJECTION": "true",
    }
    with rig(commands, **unused) as stack:
        timings = [_bare_list(stack), _one_task(stack), _fan_out(stack)]
        rates = [_throughput(stack, clients) for clients in CLIENTS]
    _show(timings, rates)
    keep_results(
        "spine",
        samples=SAMPLES,
        round_trips=[asdict(one) for one in timings],
        throughput=[asdict(one) for one in rates],
    )


def _bare_list(stack: Rig) -> Timing:
    """Measure a message to another thread and back, by two lists."""
    there, back = f"bench:{uuid7()}", f"bench:{uuid7()}"
    echo = threading.Thread(target=_echo, args=(stack, there, back), daemon=True)
    echo.start()
    client = redis_clients.jobs_redis(stack.settings)

    def once() -> None:
        client.rpush(there, "x")
        client.blpop([back], timeout=5)

    timing = _measured("redis list", once)
    client.rpush(there, "")
    echo.join(timeout=5)
    return timing


def _echo(stack: Rig, there: str, back: str) -> None:
    client = redis_clients.jobs_redis(stack.settings, timeout_seconds=30)
    while (found := client.blpop([there], timeout=20)) and found[1]:
        client.rpush(back, "x")


def _one_task(stack: Rig) -> Timing:
    """Measure one branch of a search, from its message to its word in the mailbox."""
    app = make_app(stack.settings)
    client = redis_clients.jobs_redis(stack.settings)
    clock = BrokerClock(client)
    mailbox = f"mailbox:{uuid7()}"

    def once() -> None:
        job = _half_a_search(clock.now())
        jobs.open_job(client, job)
        headers = {"deadline": job.deadline, "mailbox": mailbox}
        fan_out.send_branches(app, job.job_id, 1, "search", headers)
        client.blpop([mailbox], timeout=5)

    return _measured("one Celery task", once)


def _half_a_search(now: float) -> Job:
    """Return a job with two branches: with one of them done, nobody ranks."""
    fault = Fault("*", empty=True)
    question = SearchQuery("beam", mode="hybrid", fault=fault)
    plan = make_plan(question, Scope("default", "bench"), PlanLimits())
    deadline = now + plan.deadline_ms / 1000
    return Job(
        job_id=uuid7(),
        tenant="default",
        subject="bench",
        key_id=None,
        plan=plan.to_json(),
        branches=2,
        created=now,
        deadline=deadline,
        submitted=False,
    )


_BODY = {"query": "RF cavity tripped", "mode": "hybrid"}


def _headers(stack: Rig) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {stack.key}",
        "X-Logchord-Fault": "branch=*;empty",
    }


def _fan_out(stack: Rig) -> Timing:
    """Measure a hybrid search through HTTP: key, limiter, admission and all."""
    with httpx2.Client(base_url=stack.url, headers=_headers(stack)) as client:

        def once() -> None:
            answer = client.post("/v1/search/query", json=_BODY)
            answer.raise_for_status()
            if [b["status"] for b in answer.json()["branches"]] != ["empty", "empty"]:
                message = f"The branches were not emptied: {answer.text[:500]}"
                raise RuntimeError(message)

        return _measured("fan-out over HTTP", once, stack)


def _measured(name: str, once: Callable[[], None], stack: Rig | None = None) -> Timing:
    for _ in range(WARM_UP):
        once()
    spent = stack.cpu_seconds() if stack else {}
    took: list[float] = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        once()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_SECONDS)
    now = stack.cpu_seconds() if stack else {}
    cpu = {n: round((now[n] - spent[n]) * 1000 / SAMPLES, 2) for n in now}
    cuts = statistics.quantiles(took, n=20)
    return Timing(name, round(statistics.median(took), 2), round(cuts[18], 2), cpu)


def _throughput(stack: Rig, clients: int) -> Throughput:
    """Count the searches of so many clients who each ask again at once."""
    done = asyncio.run(_ask_again_and_again(stack, clients))
    return Throughput(clients, round(done / THROUGHPUT_SECONDS, 1))


async def _ask_again_and_again(stack: Rig, clients: int) -> int:
    until = time.monotonic() + THROUGHPUT_SECONDS
    async with httpx2.AsyncClient(
        base_url=stack.url, headers=_headers(stack)
    ) as client:

        async def ask() -> int:
            done = 0
            while time.monotonic() < until:
                answer = await client.post("/v1/search/query", json=_BODY)
                answer.raise_for_status()
                done += 1
            return done

        return sum(await asyncio.gather(*(ask() for _ in range(clients))))


def _show(timings: list[Timing], rates: list[Throughput]) -> None:
    table = Table(title=f"Round trips, {SAMPLES} each after {WARM_UP} to warm up")
    for column in ("", "p50 ms", "p95 ms", "of a list", "CPU ms"):
        table.add_column(column, justify="right" if column else "left")
    for one in timings:
        ratio = one.p50_ms / timings[0].p50_ms
        cpu = f"{sum(one.cpu_ms.values()):.1f}" if one.cpu_ms else ""
        table.add_row(
            one.name, f"{one.p50_ms:.2f}", f"{one.p95_ms:.2f}", f"{ratio:.0f} x", cpu
        )
    console = Console()
    console.print(table)
    parts = ", ".join(f"{n} {ms:.1f}" for n, ms in timings[-1].cpu_ms.items())
    console.print(f"CPU ms of a fan-out: {parts}")
    for rate in rates:
        console.print(f"{rate.per_second:7.1f} searches/s, {rate.clients} at once")
    fan_out = timings[-1]
    met = fan_out.p50_ms <= AIM_P50_MS and fan_out.p95_ms <= AIM_P95_MS
    aim = f"aim: p50 {AIM_P50_MS:.0f}, p95 {AIM_P95_MS:.0f} ms"
    console.print(f"{aim}: {'met' if met else 'not met'} in this run")


if __name__ == "__main__":
    main()
