"""A logbook enriched from nothing while workers are killed and OpenSearch is away.

`make shown-enrich` runs it (docs/how-to/show-that-nothing-is-lost.md): then another
model and another index are put in place while searches are asked.
"""

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

import httpx2
import psycopg
import pytest

from local.opensearch import EmbeddedOpenSearch
from local.place import StackFolders
from local.server import free_port
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.search.query.modes import MODES
from tests.support.faults import shown_logbook
from tests.support.faults.asking import Searching, has_ended
from tests.support.faults.measures import counting
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.shown_logbook import Filling
from tests.support.fixtures.fault_ledger import Line
from tests.support.fixtures.own_servers import own_home
from tests.support.fixtures.servers import Reap
from tests.support.fixtures.system import ROOT, Factory, System
from tests.support.waiting import until
from tests.support.written import ok

ENTRIES = int(os.environ.get("SHOWN_ENTRIES") or "100000")
# Of the real texts at hand, at most.
REAL = int(os.environ.get("SHOWN_REAL") or "100000")
SEED = int(os.environ.get("SHOWN_SEED") or random.SystemRandom().randrange(10**8))
KILL_SECONDS = float(os.environ.get("SHOWN_KILL_SECONDS") or "20")
AWAY_SECONDS = float(os.environ.get("SHOWN_AWAY_SECONDS") or "60")
MODEL = os.environ.get("SHOWN_MODEL") or DEFAULT_MODEL
NEXT_MODEL = os.environ.get("SHOWN_NEXT_MODEL") or "all-MiniLM-L6-v2-fp32"

WORKERS = ("enhance", "enhance-2", "embed", "search", "chores")
# When so much has been accepted OpenSearch goes away.
GOES_AT = 0.3
CONVERGE_SECONDS = 60.0
# Every entry takes two cores some milliseconds; far more is a run that hangs.
MOST_SECONDS = 600.0 + 0.3 * (ENTRIES + REAL)
INDEX_READY_SECONDS = 150.0
# These words are in many entries.
QUESTION = "cooling water flow"


@dataclass
class Run:
    """What was done to the system meanwhile."""

    system: System
    engine: EmbeddedOpenSearch
    reap: Reap
    chance: random.Random
    killed: Counter[str] = field(default_factory=Counter)
    away_seconds: float = 0.0

    def endure(self, ledger: Ledger, filling: Filling) -> None:
        """Kill a worker every 20 s and stop OpenSearch once, until nothing is due."""
        began = time.monotonic()
        kills_at, goes_at, back_at = began + KILL_SECONDS, None, None
        while not (filling.is_over and back_at and not self._away and not ledger.due()):
            now = time.monotonic()
            assert now < began + MOST_SECONDS, "the work does not come to an end"
            assert not filling.failures, filling.failures
            if now >= kills_at:
                kills_at = now + KILL_SECONDS
                self._kill(ledger)
            if goes_at is None and filling.share >= GOES_AT:
                self.engine.stop()
                goes_at, back_at = now, now + AWAY_SECONDS
            if self._away and back_at is not None and now >= back_at:
                self.engine.start()
                assert self.engine.pid is not None
                self.reap(self.engine.pid)
                self.engine.wait_ready(INDEX_READY_SECONDS)
                self.away_seconds = time.monotonic() - (goes_at or now)
                ledger.faults.append(counting.Fault(time.time(), None, "index"))
            threading.Event().wait(0.2)

    @property
    def _away(self) -> bool:
        return self.engine.pid is None

    def _kill(self, ledger: Ledger) -> None:
        name = self.chance.choice(WORKERS)
        self.system.kill(name)
        self.system.start(name, command=name.partition("-")[0])
        ledger.faults.append(counting.Fault(time.time(), None))
        self.killed[name] += 1


@pytest.fixture
def engine(place: StackFolders, reap: Reap) -> Iterator[EmbeddedOpenSearch]:
    """An OpenSearch that nobody else uses, to be stopped."""
    with own_home(place, reap) as own:
        server = EmbeddedOpenSearch(own, free_port())
        server.start()
        assert server.pid is not None
        reap(server.pid)
        server.wait_ready(INDEX_READY_SECONDS)
        yield server
        server.stop()


@pytest.fixture
def system(make_system: Factory, own_postgres, own_valkey, engine) -> System:
    """A whole system on servers of its own, with nothing in it."""
    made: System = make_system(
        database=own_postgres.url,
        opensearch=engine.url,
        afresh=True,
        BROKER_URL=own_valkey.url,
        EMBEDDING_MODEL=MODEL,
    )
    for name in ("api", "upkeep", *WORKERS):
        made.start(name, command=name.partition("-")[0])
    made.wait_ready("enhance", "embed", "search", "chores", "upkeep")
    return made


@pytest.mark.requirement("P1", "P2", "P6")
@pytest.mark.timeout(0)
def test_nothing_is_lost_doubled_or_adrift_of_a_logbook_enriched_from_nothing(
    system: System, engine: EmbeddedOpenSearch, reap: Reap
) -> None:
    print(f"\nSHOWN_SEED={SEED} SHOWN_ENTRIES={ENTRIES}", flush=True)
    texts = list(islice(shown_logbook.real(), REAL))
    ledger = Ledger(system, "shown-enrich", SEED)
    bodies = chain(texts, shown_logbook.made_up(ENTRIES, SEED))
    count = len(texts) + ENTRIES
    run = Run(system, engine, reap, random.Random(SEED))
    began = time.monotonic()
    with Filling(ledger, system.key(), bodies, count, SEED) as filling:
        run.endure(ledger, filling)
    drained = time.monotonic()
    _converge(system, drained)
    converged_s = time.monotonic() - drained
    line = ledger.count()
    report: dict[str, Any] = {
        "seed": SEED,
        "entries": count,
        "real": len(texts),
        "edits": ledger.edits,
        "deleted": sum(one is None for one in filling.promised.values()),
        "seconds": round(drained - began, 1),
        "entries_per_second": round(count / (drained - began), 1),
        "converged_s": round(converged_s, 1),
        "killed": run.killed,
        "opensearch_away_s": round(run.away_seconds, 1),
        "ledger": asdict(line),
        "not_as_promised": filling.not_as_promised(system.database)[:10],
    }
    # What comes next takes as long again: should it be cut off, this was seen.
    _keep(report)
    report |= _made_anew(system)
    _converge(system, time.monotonic())
    report["drift_afterwards"] = _drift(system)
    _keep(report)
    broken = _broken(report, line)
    assert not broken, broken


def _made_anew(system: System) -> dict[str, Any]:
    """Put another model and another index in place, and count failed searches."""
    told: dict[str, Any] = {}
    with (
        system.client(timeout=60) as asking,
        system.client(system.key(tenant="*", scopes=("admin",))) as admin,
    ):
        for name, mode, path in (
            ("reembed", "semantic", f"/v1/embed-models/{NEXT_MODEL}/activate"),
            ("rebuild", "keyword", "/v1/search/index/rebuild"),
        ):
            began = time.monotonic()
            # Searches share two cores with whatever makes vectors.
            patient = {"deadline_ms": 2 * MODES[mode].deadline_ms, "query": QUESTION}
            with Searching(asking, mode, **patient) as searching:
                ended = _chore(admin, path)
            told[name] = {
                "state": ended["state"],
                "result": ended["result"],
                "seconds": round(time.monotonic() - began, 1),
                "searches": searching.answered,
                "searches_failed": len(searching.failed),
                "first_failed": searching.failed[:1],
            }
            print(name, told[name], flush=True)
    return told


def _chore(admin: httpx2.Client, path: str) -> dict[str, Any]:
    chore = ok(admin.post(path, json={}), 202)["maintenance_id"]
    return until(
        lambda: has_ended(admin, chore), within_seconds=MOST_SECONDS, what=path
    )


def _converge(system: System, since: float) -> None:
    """Return once the index is as Postgres is, or a minute later."""
    until(
        lambda: not _drift(system) or time.monotonic() > since + CONVERGE_SECONDS,
        within_seconds=2 * CONVERGE_SECONDS,
    )


def _drift(system: System) -> int:
    url = system.environment["OPENSEARCH_URL"]
    base = system.environment["OPENSEARCH_INDEX"]
    with psycopg.connect(system.database, autocommit=True) as conn:
        return counting.drift(conn, url, base)


def _broken(report: dict[str, Any], line: Line) -> dict[str, Any]:
    """Return what was not kept, by name; nothing when all of it was."""
    again = {name: report[name] for name in ("reembed", "rebuild")}
    found: dict[str, Any] = {
        "lost": line.lost or report["not_as_promised"],
        "quarantined": line.quarantined,
        "duplicate effects": line.duplicate_effects,
        "drift": line.drift or report["drift_afterwards"],
        "not replaced": {n: o for n, o in again.items() if o["state"] != "done"},
        "searches failed": {n: o for n, o in again.items() if o["searches_failed"]},
        "not searched": {n: o for n, o in again.items() if not o["searches"]},
    }
    return {name: value for name, value in found.items() if value}


def _keep(report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=1)
    path = ROOT / "test-results" / f"shown-enrich-{SEED}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
    print(text)
