"""How fast entries come in: by an adapter, by pushes, and beside bare statements."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict

import httpx2
from rich.console import Console
from rich.table import Table

from bench import ingest_path, logbook
from bench.ingest_path import Rate
from bench.keep_results import keep_results
from bench.rig import rig, servers

AIM_PER_SECOND, AIM_SLOPE_PERCENT = 5_000, 70
SIZES = {
    "full": (10_000, 100_000),
    "large": (10_000, 100_000, 1_000_000),
    "quick": (10_000,),
    "tiny": (500,),
}
PUSHES = ((1, 300), (100, 5_000), (1_000, 20_000))
_SOURCE = json.dumps({"api": {"adapter": "push"}})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on servers of our own, print a table, keep the numbers as JSON."""
    asked = _options(arguments)
    found = measure(SIZES[asked.size], pushes=asked.size != "tiny")
    _show(found, SIZES[asked.size])
    if asked.keep:
        rates = [{**asdict(one), "per_second": one.per_second} for one in found]
        keep_results("ingest", size=asked.size, rates=rates)


def measure(sizes: Sequence[int], *, pushes: bool) -> list[Rate]:
    """Measure every way, one after the other; no enrichment worker runs."""
    smallest = sizes[0]
    found = [ingest_path.parse_only(smallest)]
    with servers(OPENSEARCH_URL="off") as ground:
        for size in sizes:
            found += ingest_path.adapter_path(ground, size)
        # Last, for they hold all their rows: it would be said of the adapter's memory.
        found += [ingest_path.bare_copy(ground, size) for size in sizes]
        found.append(ingest_path.bare_inserts(ground, smallest))
    if pushes:
        found += _pushes()
    return found


def _pushes() -> list[Rate]:
    rates = []
    with rig(
        [("serve", "api")], OPENSEARCH_URL="off", LOGCHORD_SOURCES=_SOURCE
    ) as made:
        headers = {"Authorization": f"Bearer {made.key}"}
        with httpx2.Client(base_url=made.url, headers=headers, timeout=60) as client:
            first = 1
            for batch, count in PUSHES:
                rates.append(_push(client, batch, count, first))
                first += count
            rates.append(_push_lines(client, PUSHES[-1][1], first))
    return rates


def _push(client: httpx2.Client, batch: int, count: int, first: int) -> Rate:
    bodies = []
    waiting = [_pushed(one) for one in logbook.entries(count, first=first)]
    for start in range(0, count, batch):
        some = waiting[start : start + batch]
        bodies.append(json.dumps(some[0] if batch == 1 else {"entries": some}))
    json_type = {"Content-Type": "application/json"}
    began = time.perf_counter()
    for body in bodies:
        client.post("/v1/entries", content=body, headers=json_type).raise_for_status()
    return Rate(f"push, {batch} a call", count, time.perf_counter() - began)


def _push_lines(client: httpx2.Client, count: int, first: int) -> Rate:
    body = b"".join(
        json.dumps(_pushed(one)).encode() + b"\n"
        for one in logbook.entries(count, first=first)
    )
    lines = {"Content-Type": "application/x-ndjson"}
    began = time.perf_counter()
    client.post("/v1/entries", content=body, headers=lines).raise_for_status()
    return Rate("push, lines", count, time.perf_counter() - began)


def _pushed(one: dict[str, object]) -> dict[str, object]:
    return {
        "external_id": one["id"],
        "title": one["title"],
        "text": one["text"],
        "author": one["author"],
        "entry_time": one["timestamp"],
        "logbooks": one["books"],
        "tags": one["tags"],
        "metadata": one["metadata"],
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    for name in ("quick", "tiny", "large"):
        text = f"sizes of a {name} run: {', '.join(f'{n:,}' for n in SIZES[name])}"
        sizes.add_argument(
            f"--{name}", dest="size", action="store_const", const=name, help=text
        )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    parser.set_defaults(size="full")
    return parser.parse_args(arguments)


def _show(found: list[Rate], sizes: Sequence[int]) -> None:
    console = Console()
    copies = {one.entries: one for one in found if one.name.startswith("bare COPY")}
    table = Table(title="Entries a second, committed; no enrichment running")
    for column in ("", "entries", "per second", "of bare COPY", "memory MB", ""):
        table.add_column(column, justify="right" if column else "left")
    for one in found:
        bare = copies.get(one.entries)
        table.add_row(
            one.name,
            f"{one.entries:,}",
            f"{one.per_second:,.0f}",
            f"{one.per_second * 100 / bare.per_second:.1f} %" if bare else "",
            f"{one.memory_mb:.0f}" if one.memory_mb else "",
            one.note,
        )
    console.print(table)
    taken = [one for one in found if one.name.startswith("adapter")]
    console.print(
        f"adapter: {taken[0].per_second:,.0f} entries/s (aim {AIM_PER_SECOND:,}),"
        f" at {sizes[-1]:,} {taken[-1].per_second * 100 / taken[0].per_second:.0f} % of"
        f" it (aim {AIM_SLOPE_PERCENT} %)"
    )


if __name__ == "__main__":
    main()
