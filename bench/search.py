"""How long searches take over HTTP, and the bare engines with the like of them."""

import argparse
import functools
import json
import time
from dataclasses import asdict
from pathlib import Path

import httpx2
import psutil
from rich.console import Console

from bench import (
    search_bare,
    search_corpus,
    search_load,
    search_modules,
    search_stack,
    search_table,
)
from bench.keep_results import keep_results
from bench.search_stack import Make, Stack, Timing, measured, questions
from bench.search_table import FAN_OUT, Found

ENTRIES, QUICK_ENTRIES = (10_000, 100_000), (1000,)
SAMPLES, QUICK_SAMPLES = 100, 20
# A JVM is quick once it has compiled what it ran some thousand times: a question cost
# OpenSearch 25 ms of processor time at first, 5 ms after 1,500 of them.
WARM_CLIENTS, WARM_SECONDS, QUICK_WARM_SECONDS = 4, 60.0, 10.0
# Of what is kept in a file nothing is cut.
_PAGE_WIDTH = 120
_EMPTY = {"X-Logchord-Fault": "branch=*;empty"}


def main() -> None:
    """Measure on stacks of our own, print a table of each, keep all as JSON."""
    given = _options()
    before = json.loads(given.against.read_text())["runs"] if given.against else None
    sizes = QUICK_ENTRIES if given.quick else given.entries
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PAGE_WIDTH)
    runs: list[Found] = []
    for entries in sizes:
        runs.append(_measured(entries, given))
        search_table.show(console, runs[-1])
        # What is measured by now stays, whatever becomes of the next size.
        keep_results("search", runs=[asdict(one) for one in runs])
    if len(runs) > 1:
        search_table.compare(console, runs)
    if before is not None:
        search_table.compare_with_before(console, before, runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--entries",
        type=int,
        nargs="+",
        default=ENTRIES,
        help="how many, one size after the other",
    )
    parser.add_argument("--quick", action="store_true", help="few entries, few samples")
    parser.add_argument(
        "--backfill", type=int, default=0, help="search beside so many entries due"
    )
    parser.add_argument(
        "--minutes", type=float, default=0, help="search so long, and watch the memory"
    )
    parser.add_argument(
        "--against", type=Path, help="a search.json kept earlier, shown beside this one"
    )
    return parser.parse_args()


def _measured(entries: int, given: argparse.Namespace) -> Found:
    samples = QUICK_SAMPLES if given.quick else SAMPLES
    warm = QUICK_WARM_SECONDS if given.quick else WARM_SECONDS
    resampled = entries - search_corpus.read_by_the_model(entries)
    began = time.perf_counter()
    with search_stack.opened(entries) as stack:
        filled = round(time.perf_counter() - began, 1)
        search_load.throughput(stack, WARM_CLIENTS, warm)
        found = Found(entries, resampled, filled, psutil.getloadavg())
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
    return found


def _searches(stack: Stack, samples: int) -> list[Timing]:
    timings = []
    with httpx2.Client(**stack.http()) as client:

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
        empty = measured(FAN_OUT, samples, lambda: ask(make, **_EMPTY))
    return [*timings, empty]


if __name__ == "__main__":
    main()
