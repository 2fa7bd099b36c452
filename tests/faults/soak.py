"""F35: everything at work for half an hour, and every 20 s something goes wrong.

`make soak` runs it (docs/how-to/run-the-soak.md). The same SOAK_SEED draws the same
faults in the same order.
"""

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, LiteralString

import psycopg
import pytest

from tests.support.faults.injected.faults import Fault, Site
from tests.support.faults.measures import counting
from tests.support.faults.measures.ledger import Ledger, p95
from tests.support.faults.soak_load import Load, Told
from tests.support.faults.soak_memory import Memory
from tests.support.fixtures.fault_ledger import Line
from tests.support.fixtures.system import CORE, ROOT, System
from tests.support.waiting import until

MINUTES = float(os.environ.get("SOAK_MINUTES") or "30")
SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(10**8))
EVERY_SECONDS = 20.0
DRAIN_SECONDS = 180.0
CONVERGE_SECONDS = 60.0
# P3: how long after a fault somebody may still feel it.
RECOVERY_SECONDS, LEASE_BOUND_SECONDS = 15.0, 20.0
LATE_SECONDS = 5.0
POST_SECONDS = 0.5
MAX_RSS_MIB, MAX_SLOPE = 512, 1.0

WORKERS = ("search", "search-2", "enhance", "embed", "chores")
UPKEEPS = ("upkeep", "upkeep-2")
_DATABASE_CODES = frozenset({"database_unavailable", "database_query_retry"})
_SEARCH_CODES = frozenset({"search_timeout", "search_failed", "broker_unavailable"})

# A direct search is told before it is stored, and a worker may freeze between the two:
# whether it ended in time its caller knows.
_LATE_JOBS: LiteralString = """
    SELECT id::text, extract(epoch FROM deadline_at)::float, state,
           extract(epoch FROM coalesce(ended_at, clock_timestamp()) - deadline_at)
               ::float
      FROM job
     WHERE (ended_at IS NULL OR id = ANY(%(submitted)s::uuid[]))
       AND coalesce(ended_at, clock_timestamp())
           > deadline_at + make_interval(secs => %(late)s)"""
_JOBS: LiteralString = "SELECT count(*) FROM job"


@dataclass(frozen=True)
class Done:
    """A fault that was, and from when to when."""

    fault: Fault
    began: float
    ended: float

    def overlaps(self, began: float, ended: float, after: float) -> bool:
        """Whether it, or so many seconds after it, falls into a span of time."""
        return self.began < ended and began < self.ended + after


@dataclass
class Run:
    """One soak: what was done to the system, and what came of it."""

    site: Site
    done: list[Done] = field(default_factory=list)
    # Processes that ended though nobody killed them.
    ended_alone: list[str] = field(default_factory=list)

    def go(self, minutes: float, seed: int) -> None:
        """Carry out the drawn faults, one every 20 s."""
        began = time.monotonic()
        for number, fault in enumerate(draw(seed)):
            at = began + (number + 1) * EVERY_SECONDS
            if at > began + 60 * minutes:
                return
            until(
                lambda at=at: time.monotonic() >= at or self.look_after(),
                within_seconds=2 * EVERY_SECONDS,
            )
            started = time.time()
            to_whom = self.site.carry_out(fault, random.Random(seed * 1000 + number))
            self.done.append(Done(fault, started, time.time()))
            took = self.done[-1].ended - started
            print(
                f"{time.monotonic() - began:7.1f} s  {fault.name} {to_whom}"
                f" ({took:.1f} s)",
                flush=True,
            )

    def near(self, one: Told, *, after: float = RECOVERY_SECONDS) -> list[Fault]:
        """Return the faults that a request may have met."""
        return [
            done.fault
            for done in self.done
            if done.overlaps(one.at, one.at + one.seconds, after)
        ]

    def is_documented(self, one: Told) -> bool:
        """Whether what was answered is what a caller is told to expect just then."""
        near = self.near(one)
        if one.status == 0:
            return any(fault.hits_api for fault in near)
        if one.code in _DATABASE_CODES:
            return any(fault.hits_postgres for fault in near)
        if one.kind in {"search", "job"} and one.code in _SEARCH_CODES:
            return True
        return one.status < 400

    def recoveries(self, conn: psycopg.Connection) -> dict[str, float]:
        """Return the longest time until work went on, by what was over just then."""
        longest: dict[str, float] = {}
        for done in self.done:
            seconds = counting.recovery_s(conn, counting.Fault(done.ended, None))
            name = done.fault.name
            longest[name] = max(longest.get(name, 0.0), round(seconds, 1))
        return longest

    def late_jobs(
        self, conn: psycopg.Connection, submitted: list[str]
    ) -> tuple[list[str], list[str]]:
        """Return jobs that ended too late, and those of them with Postgres away."""
        late: list[str] = []
        excused: list[str] = []
        for job, deadline, state, by in conn.execute(
            _LATE_JOBS, {"late": LATE_SECONDS, "submitted": submitted}
        ).fetchall():
            met_postgres = any(
                done.fault.hits_postgres
                and done.overlaps(deadline, deadline + LATE_SECONDS, RECOVERY_SECONDS)
                for done in self.done
            )
            (excused if met_postgres else late).append(f"{job} {state} +{by:.1f} s")
        return late, excused

    def look_after(self) -> bool:
        """Start again whoever has ended by itself, and remember it."""
        self.ended_alone += self.site.start_ended()
        return False


def draw(seed: int) -> Iterator[Fault]:
    """Yield faults without end, each once before any comes again."""
    chance = random.Random(seed)
    while True:
        deck = list(Fault)
        chance.shuffle(deck)
        yield from deck


@pytest.fixture
def site(make_system, make_proxy, own_postgres, own_valkey, opensearch) -> Site:
    """Everything there is, each server behind a proxy of its own."""
    broker, database, engine = (
        make_proxy(server.url) for server in (own_valkey, own_postgres, opensearch)
    )
    system = make_system(
        database=database.url, opensearch=engine.url, afresh=True, BROKER_URL=broker.url
    )
    made = Site(
        system, own_postgres, own_valkey, broker, database, engine, WORKERS, UPKEEPS
    )
    for name in ("api", *WORKERS, *UPKEEPS):
        made.start(name)
    system.wait_ready(*(name for name in CORE if name != "api"))
    return made


@pytest.fixture
def observer(site: Site, opensearch) -> System:
    """The same system, seen past the proxies."""
    direct = {
        "DATABASE_URL": site.postgres.url,
        "BROKER_URL": site.valkey.url,
        "OPENSEARCH_URL": opensearch.url,
    }
    environment = {**site.system.environment, **direct}
    seen = site.system
    return System(environment, seen.logs, seen.reap, seen.parents)


@pytest.mark.requirement("F35", "P1", "P2", "P3", "P6", "P8", "P11")
@pytest.mark.timeout(0)
def test_nothing_is_lost_doubled_or_stuck_whatever_goes_wrong_every_twenty_seconds(
    site: Site, observer: System
) -> None:
    print(f"\nSOAK_SEED={SEED} SOAK_MINUTES={MINUTES:g}", flush=True)
    run = Run(site)
    ledger = Ledger(observer, "F35", SEED)
    with Memory(site.system) as memory, Load(observer, ledger, SEED) as load:
        run.go(MINUTES, SEED)
        site.heal()
    site.heal()
    healed = time.monotonic()
    until(
        lambda: ledger.due() == 0 or run.look_after(),
        within_seconds=DRAIN_SECONDS,
        what="due work drained",
    )
    drained_s = time.monotonic() - healed
    _converge(observer, healed)
    ledger.faults += [counting.Fault(done.ended, None) for done in run.done]
    line = ledger.count()
    report = _report(run, load, memory, line)
    report["drained_s"] = round(drained_s, 1)
    _keep(report)
    broken = _broken(report, line)
    assert not broken, broken


def _converge(system: System, healed: float) -> None:
    """Return once the index is as Postgres is, or a minute after the last fault."""
    url = system.environment["OPENSEARCH_URL"]
    base = system.environment["OPENSEARCH_INDEX"]
    with psycopg.connect(system.database, autocommit=True) as conn:
        while counting.drift(conn, url, base):
            if time.monotonic() > healed + CONVERGE_SECONDS:
                return
            threading.Event().wait(1)


def _report(run: Run, load: Load, memory: Memory, line: Line) -> dict[str, Any]:
    posts = [one for one in load.told if one.kind == "post"]
    searches = [one for one in load.told if one.kind == "search"]
    # P4: with Redis or OpenSearch away, and nothing else.
    steady = [
        one
        for one in posts
        if not any(f.hits_postgres or f.hits_api for f in run.near(one))
    ]
    asked = [
        one
        for one in searches
        if not any(f.hits_postgres or f.hits_api for f in run.near(one))
    ]
    with psycopg.connect(run.site.postgres.url) as conn:
        late, excused = run.late_jobs(conn, load.submitted)
        recoveries = run.recoveries(conn)
        jobs = conn.execute(_JOBS).fetchone()
    return {
        "seed": SEED,
        "minutes": MINUTES,
        "faults": Counter(done.fault.name for done in run.done),
        "recovery_s": recoveries,
        "ledger": asdict(line),
        "not_as_promised": load.not_as_promised(run.site.postgres.url)[:10],
        "edits": load.ledger.edits,
        "deleted": sum(one.deleted for one in load.entries.values()),
        "posts": _answers(posts),
        "posts_refused_without_reason": sum(
            not 200 <= one.status < 300 for one in steady
        ),
        "post_p95_s": round(p95([one.seconds for one in posts]), 3),
        "post_p95_s_postgres_there": round(p95([one.seconds for one in steady]), 3),
        "searches": _answers(searches),
        "search_latest_s": _latest(searches),
        "search_latest_s_postgres_there": _latest(asked),
        "jobs": int(jobs[0]) if jobs else 0,
        "jobs_submitted": _answers([one for one in load.told if one.kind == "job"]),
        "jobs_late": late,
        "jobs_late_with_postgres_away": excused,
        "undocumented": Counter(
            f"{one.kind} {one.status} {one.code}"
            for one in load.told
            if not run.is_documented(one)
        ),
        "callers_failed": [repr(exc) for exc in load.failures],
        "ended_alone": Counter(run.ended_alone),
        "memory_slope_mib_per_min": memory.slopes(),
        "memory_most_rss_mib": memory.most_rss_mib,
    }


def _broken(report: dict[str, Any], line: Line) -> dict[str, Any]:
    """Return what was not kept, by name; nothing when every promise was."""
    slopes = report["memory_slope_mib_per_min"]
    grown = {k: s for k, s in slopes.items() if s is not None and s >= MAX_SLOPE}
    large = {k: m for k, m in report["memory_most_rss_mib"].items() if m >= MAX_RSS_MIB}
    slow = {
        name: seconds
        for name, seconds in report["recovery_s"].items()
        if seconds >= (LEASE_BOUND_SECONDS if "KILL" in name else RECOVERY_SECONDS)
    }
    found: dict[str, Any] = {
        "P1 lost": line.lost or report["not_as_promised"],
        "P1 quarantined": line.quarantined,
        "P2 duplicate effects": line.duplicate_effects,
        "P3 recovery": slow,
        "P6 drift": line.drift,
        "P8 jobs late": report["jobs_late"],
        "P9 undocumented answers": report["undocumented"],
        "P11 slope": grown,
        "P11 memory": large,
        "callers failed": report["callers_failed"],
        "P4 posts refused": report["posts_refused_without_reason"],
        "P4 p95": report["post_p95_s_postgres_there"] >= POST_SECONDS
        and report["post_p95_s_postgres_there"],
        "P5 search late": report["search_latest_s_postgres_there"] >= 1
        and report["search_latest_s_postgres_there"],
    }
    return {name: value for name, value in found.items() if value}


def _answers(told: Sequence[Told]) -> dict[str, int]:
    return Counter(f"{one.status} {one.code}".strip() for one in told)


def _latest(told: Sequence[Told]) -> float:
    return round(max((one.late_s for one in told), default=0.0), 2)


def _keep(report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=1)
    path = ROOT / "test-results" / f"soak-{SEED}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
    print(text)
