"""How long searches take over HTTP, and the bare engines with the like of them."""

from __future__ import annotations

import argparse
import functools
import json
import platform
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from bench import search_bare, search_load, search_modules, search_stack
from bench.enrich_pipeline import Held
from bench.search_bare import Recall
from bench.search_load import Beside, Throughput
from bench.search_stack import Make, Stack, Timing, measured, questions

RESULTS = Path(__file__).parent / "results" / "search.json"
ENTRIES, QUICK_ENTRIES = 10_000, 1000
SAMPLES, QUICK_SAMPLES = 100, 20
# A JVM is quick once it has compiled what it ran some thousand times: a question cost
# OpenSearch 25 ms of processor time at first, 5 ms after 1,500 of them.
WARM_CLIENTS, WARM_SECONDS, QUICK_WARM_SECONDS = 4, 60.0, 10.0
_EMPTY = {"X-Logchord-Fault": "branch=*;empty"}


@dataclass
class Found:
    """All that one run measured."""

    entries: int
    filled_in_seconds: float
    load: tuple[float, float, float]
    searches: list[Timing] = field(default_factory=list)
    recall: Recall | None = None
    throughput: list[Throughput] = field(default_factory=list)
    beside: Beside | None = None
    long: Throughput | None = None
    memory: list[Held] = field(default_factory=list)


def main() -> None:
    """Measure on a stack of our own, print a table, keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--quick", action="store_true", help="few entries, few samples")
    parser.add_argument(
        "--backfill", type=int, default=0, help="search beside so many entries due"
    )
    parser.add_argument(
        "--minutes", type=float, default=0, help="search so long, and watch the memory"
    )
    given = parser.parse_args()
    entries = QUICK_ENTRIES if given.quick else given.entries
    samples = QUICK_SAMPLES if given.quick else SAMPLES
    warm = QUICK_WARM_SECONDS if given.quick else WARM_SECONDS
    began = time.perf_counter()
    with search_stack.opened(entries) as stack:
        filled = round(time.perf_counter() - began, 1)
        search_load.throughput(stack, WARM_CLIENTS, warm)
        found = Found(entries, filled, psutil.getloadavg())
        found.searches = [
            *_searches(stack, samples),
            *search_modules.at_the_module(stack, samples),
            *search_bare.bare(stack, samples),
        ]
        found.recall = search_bare.recall(stack)
        found.throughput = [
            search_load.throughput(stack, clients) for clients in search_load.CLIENTS
        ]
        if given.minutes:
            found.long, found.memory = search_load.for_long(stack, given.minutes)
        if given.backfill:
            found.beside = search_load.beside_a_backfill(stack, given.backfill)
    _show(Console(), found)
    _keep(found)


def _searches(stack: Stack, samples: int) -> list[Timing]:
    timings = []
    with httpx.Client(**stack.http()) as client:

        def ask(make: Make, **headers: str) -> bool:
            answer = client.post("/v1/search/query", json=make(), headers=headers)
            answer.raise_for_status()
            body = answer.json()
            if body["degraded"]:
                message = f"A search was degraded: {body['branches']}"
                raise RuntimeError(message)
            return bool(body["results"])

        asked = questions(stack)
        for kind, make in asked.items():
            timings.append(measured(kind, samples, functools.partial(ask, make)))
        make = asked["hybrid, fused only"]
        empty = measured("fan-out alone", samples, lambda: ask(make, **_EMPTY))
    return [*timings, empty]


def _show(console: Console, found: Found) -> None:
    table = Table(
        title=f"Searches over {found.entries} entries, every question another"
    )
    for column in ("", "p50 ms", "p95 ms", "p99 ms", "of bare OpenSearch", "with hits"):
        table.add_column(column, justify="right" if column else "left")
    bare = next(one.p50_ms for one in found.searches if one.kind == "bare OpenSearch")
    for one in found.searches:
        times = (f"{ms:.1f}" for ms in (one.p50_ms, one.p95_ms, one.p99_ms))
        ratio = f"{one.p50_ms / bare:.1f} x"
        table.add_row(one.kind, *times, ratio, f"{one.with_hits:.0%}")
    if found.recall:
        table.add_row("recall@10 of the index", *4 * ("",), f"{found.recall.mean:.1%}")
    console.print(table)
    for rate in found.throughput:
        console.print(_told(rate))
    if found.long:
        console.print(f"For long: {_told(found.long)}")
        for held in found.memory:
            console.print(_held(held))
    if found.beside:
        console.print(
            f"Beside a backfill of {found.beside.backfill} entries"
            f" ({found.beside.stages_per_second} stages ended a second,"
            f" {found.beside.left} left): {_told(found.beside.searches)}"
        )


def _told(rate: Throughput) -> str:
    return (
        f"{rate.per_second:.1f} hybrid searches/s, {rate.clients} at once,"
        f" p50 {rate.p50_ms} ms, longest {rate.most_ms} ms,"
        f" {rate.refused} refused, {rate.degraded} degraded, {rate.late} late"
    )


def _held(one: Held) -> str:
    grown = "too short to tell" if one.mb_a_minute is None else f"{one.mb_a_minute:.2f}"
    return f"  {one.kind}: at most {one.most_mb:.0f} MB, {grown} MB a minute"


def _keep(found: Found) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    told: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": psutil.cpu_count(),
        **asdict(found),
    }
    RESULTS.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
