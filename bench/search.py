"""How long searches take over HTTP, and the bare engines with the like of them."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from bench import rig, search_corpus
from shared.embedding.encoders import DEFAULT_MODEL, load_encoder
from shared.opensearch import mapping
from shared.opensearch.client import make_client
from shared.postgres import Pool, connection, make_pool
from shared.settings import Settings

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from shared.embedding.encoders import Encoder

RESULTS = Path(__file__).parent / "results" / "search.json"
ENTRIES, QUICK_ENTRIES = 10_000, 1000
SAMPLES, QUICK_SAMPLES, WARM_UP = 100, 20, 10
CLIENTS = (1, 4, 16, 64)
THROUGHPUT_SECONDS = 5.0
# A reader asks, reads, and asks again.
PAUSE_SECONDS = 0.02
_COMMANDS = (("serve", "api"), ("serve", "worker", "search"))
_EMPTY = {"X-Logchord-Fault": "branch=*;empty"}


@dataclass(frozen=True)
class Timing:
    """How long one kind of search took, and how many found anything."""

    kind: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    with_hits: float


@dataclass(frozen=True)
class Throughput:
    """How many searches a second so many clients got, and how many were not done."""

    clients: int
    per_second: float
    not_done: int


@dataclass
class Stack:
    """A filled system: its address, its key, and its engines to be asked barely."""

    url: str
    key: str
    pool: Pool
    client: OpenSearch
    index: str
    table: str
    encoder: Encoder
    entries: int
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self) -> int:
        """Return a number that no question of this run has had."""
        return next(self.numbers)

    def http(self) -> dict[str, Any]:
        """Return what a client of the API takes."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return {"base_url": self.url, "headers": headers, "timeout": 30}


def main() -> None:
    """Measure on a stack of our own, print a table, keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--quick", action="store_true", help="few entries, few samples")
    given = parser.parse_args()
    entries = QUICK_ENTRIES if given.quick else given.entries
    samples = QUICK_SAMPLES if given.quick else SAMPLES
    began = time.perf_counter()
    with _stack(entries) as stack:
        filled = time.perf_counter() - began
        load = psutil.getloadavg()
        timings = [*_searches(stack, samples), *_bare(stack, samples)]
        rates = [_throughput(stack, clients) for clients in CLIENTS]
    _show(entries, timings, rates)
    _keep(entries, filled, load, timings, rates)


@contextmanager
def _stack(entries: int) -> Iterator[Stack]:
    with (
        rig.servers(LOGCHORD_FAULT_INJECTION="true") as ground,
        rig.with_opensearch(ground),
    ):
        settings = Settings.load(ground.environment)
        client = make_client(settings)
        assert client is not None
        encoder = load_encoder(DEFAULT_MODEL, settings.cache)
        with make_pool(ground.url, application="bench", size=4) as pool:
            table = search_corpus.fill(settings, pool, client, encoder, entries)
            with rig.serving(_COMMANDS, ground) as made:
                index = mapping.read_alias(settings.opensearch_index)
                engines = (pool, client, index, table, encoder)
                yield Stack(made.url, made.key, *engines, entries)


def _questions(stack: Stack) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return how each kind of search is asked; no two questions are alike."""

    def device(n: int) -> str:
        return f"BPM{n % 60:03d}"

    def meaning() -> str:
        n = stack.fresh()
        return f"not enough flow of cooling water number {n} at {device(n)}"

    def rare() -> str:
        return search_corpus.ticket(1 + stack.fresh() * 7 % stack.entries)

    def common() -> str:
        return f"control room after {stack.fresh() % 59} min"

    def nothing() -> str:
        return f"giraffe{stack.fresh()}x"

    hybrid = {"mode": "hybrid"}
    narrowed = {"filters": {"tag": "trip", "logbook": "RF"}, **hybrid}
    return {
        "keyword, rare": lambda: {"query": rare(), "mode": "keyword"},
        "keyword, common": lambda: {"query": common(), "mode": "keyword"},
        "keyword, nothing": lambda: {"query": nothing(), "mode": "keyword"},
        "semantic": lambda: {"query": meaning(), "mode": "semantic"},
        "hybrid, fused only": lambda: {"query": meaning(), "rerank": False, **hybrid},
        "hybrid, as shipped": lambda: {"query": meaning(), **hybrid},
        "hybrid, filtered": lambda: {"query": meaning(), **narrowed},
    }


def _searches(stack: Stack, samples: int) -> list[Timing]:
    timings = []
    with httpx.Client(**stack.http()) as client:

        def ask(make: Callable[[], dict[str, Any]], **headers: str) -> bool:
            answer = client.post("/v1/search/query", json=make(), headers=headers)
            answer.raise_for_status()
            body = answer.json()
            if body["degraded"]:
                message = f"A search was degraded: {body['branches']}"
                raise RuntimeError(message)
            return bool(body["results"])

        questions = _questions(stack)
        for kind, make in questions.items():
            timings.append(_measured(kind, samples, lambda make=make: ask(make)))
        make = questions["hybrid, fused only"]
        empty = _measured("fan-out alone", samples, lambda: ask(make, **_EMPTY))
    return [*timings, empty]


def _bare(stack: Stack, samples: int) -> list[Timing]:
    """Ask each engine for fifty, with nobody's rights and nobody between."""

    def words() -> bool:
        text = f"control room after {stack.fresh() % 59} min"
        query = {"match": {"stream": {"query": text, "operator": "and"}}}
        body = {"size": 50, "_source": False, "query": query}
        return bool(stack.client.search(index=stack.index, body=body)["hits"]["hits"])

    def text() -> bool:
        found = _rows(stack, _TEXT, {"words": f"control & room & {stack.fresh() % 59}"})
        return bool(found)

    def vector() -> bool:
        asked = f"not enough flow of cooling water number {stack.fresh()}"
        (found,) = stack.encoder.encode([asked])
        near = _NEAREST.format(table=stack.table)
        return bool(_rows(stack, near, {"near": json.dumps(found.tolist())}))

    kinds = {"bare OpenSearch": words, "bare Postgres text": text}
    return [
        _measured(kind, samples, once)
        for kind, once in {**kinds, "bare encoder and pgvector": vector}.items()
    ]


_TEXT = """
    SELECT entry_id FROM entry_text
     WHERE tsv @@ %(words)s::tsquery
     ORDER BY ts_rank(tsv, %(words)s::tsquery) DESC LIMIT 50"""
_NEAREST = """
    SELECT entry_id FROM {table}
     ORDER BY embedding <=> %(near)s::halfvec LIMIT 50"""


def _rows(stack: Stack, statement: str, given: dict[str, str]) -> list[Any]:
    with connection(stack.pool) as conn:
        return conn.execute(statement.encode(), given).fetchall()


def _measured(kind: str, samples: int, once: Callable[[], bool]) -> Timing:
    for _ in range(WARM_UP):
        once()
    took: list[float] = []
    hits = 0
    for _ in range(samples):
        began = time.perf_counter()
        hits += once()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_SECONDS)
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    p50, p95, p99 = (round(cuts[at - 1], 2) for at in (50, 95, 99))
    return Timing(kind, p50, p95, p99, round(hits / samples, 2))


def _throughput(stack: Stack, clients: int) -> Throughput:
    """Count the distinct hybrid searches of clients who each ask again at once."""
    done, not_done = asyncio.run(_again_and_again(stack, clients))
    return Throughput(clients, round(done / THROUGHPUT_SECONDS, 1), not_done)


async def _again_and_again(stack: Stack, clients: int) -> tuple[int, int]:
    until = time.monotonic() + THROUGHPUT_SECONDS
    make = _questions(stack)["hybrid, fused only"]
    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(limits=limits, **stack.http()) as client:

        async def ask() -> tuple[int, int]:
            done = not_done = 0
            while time.monotonic() < until:
                answer = await client.post("/v1/search/query", json=make())
                whole = answer.is_success and not answer.json()["degraded"]
                done, not_done = done + whole, not_done + (not whole)
            return done, not_done

        told = await asyncio.gather(*(ask() for _ in range(clients)))
    return sum(one for one, _ in told), sum(one for _, one in told)


def _show(entries: int, timings: list[Timing], rates: list[Throughput]) -> None:
    table = Table(title=f"Searches over {entries} entries, every question another")
    for column in ("", "p50 ms", "p95 ms", "p99 ms", "of bare OpenSearch", "with hits"):
        table.add_column(column, justify="right" if column else "left")
    bare = next(one.p50_ms for one in timings if one.kind == "bare OpenSearch")
    for one in timings:
        times = (f"{ms:.1f}" for ms in (one.p50_ms, one.p95_ms, one.p99_ms))
        ratio = f"{one.p50_ms / bare:.1f} x"
        table.add_row(one.kind, *times, ratio, f"{one.with_hits:.0%}")
    console = Console()
    console.print(table)
    for rate in rates:
        console.print(
            f"{rate.per_second:7.1f} hybrid searches/s, {rate.clients} at once,"
            f" {rate.not_done} refused or degraded"
        )


def _keep(
    entries: int,
    filled: float,
    load: tuple[float, float, float],
    timings: list[Timing],
    rates: list[Throughput],
) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    told = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": psutil.cpu_count(),
        "load": load,
        "entries": entries,
        "filled_in_seconds": round(filled, 1),
        "searches": [asdict(one) for one in timings],
        "throughput": [asdict(one) for one in rates],
    }
    RESULTS.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
