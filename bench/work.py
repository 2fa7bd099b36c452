"""The work table's speed: rates, drains of a backlog, the sweeper, and what stays."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from bench import work_bloat, work_drain, work_rows, work_upkeep
from bench.keep_results import keep_results
from bench.rig import servers
from bench.work_bloat import Bloat
from bench.work_drain import Drain
from bench.work_rows import Cost
from bench.work_upkeep import Idle

PARTS = ("rates", "drain", "sweeper", "bloat")
AIM_DRAIN_PERCENT, AIM_IDLE_PERCENT = 80, 1.0
BATCHES = (500, 32)
_MEGA = 1_000_000


@dataclass(frozen=True)
class Size:
    """How much a run moves, and for how long it looks."""

    entries: int
    backlogs: tuple[int, ...]
    drain_seconds: float
    idle_backlogs: tuple[int, ...]
    idle_seconds: float
    bloat: int


FULL = Size(20_000, (1_000, 100_000, 1_000_000), 60, (0, 1_000_000), 30, 1_000_000)
QUICK = Size(5_000, (1_000, 10_000, 100_000), 20, (0, 100_000), 10, 100_000)
TINY = Size(500, (500, 1_000), 10, (0,), 2, 2_000)
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}


@dataclass
class Found:
    """Everything one run measured."""

    rates: list[Cost]
    drains: list[Drain]
    idle: list[Idle]
    bloats: list[Bloat]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on servers of our own, print tables, keep the numbers as JSON."""
    asked = _options(arguments)
    size = SIZES[asked.size]
    found = measure(size, asked.part or PARTS)
    _show(found)
    if asked.keep:
        keep_results("work", size=asked.size, **asdict(found))


def measure(size: Size, parts: Sequence[str]) -> Found:
    """Measure the parts named, one after the other, on one Postgres."""
    found = Found([], [], [], [])
    # Without an index there is none to keep: the sweeper is what upkeep costs.
    with servers(OPENSEARCH_URL="off") as ground:
        largest = max(size.entries, size.bloat, *size.backlogs, *size.idle_backlogs)
        ids = work_rows.ensure_entries(ground.url, largest)[: size.entries]
        if "rates" in parts:
            for batch in BATCHES:
                found.rates += work_rows.rates(ground, ids, batch)
        if "drain" in parts:
            backlogs = list(size.backlogs)
            found.drains = work_drain.drains(ground, backlogs, size.drain_seconds)
        if "sweeper" in parts:
            backlogs = list(size.idle_backlogs)
            found.idle = work_upkeep.shares(ground, backlogs, size.idle_seconds)
        if "bloat" in parts:
            found.bloats = work_bloat.bloats(ground, size.bloat)
    return found


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.work", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    for name in ("quick", "tiny"):
        text = f"a {name} run, which says little of a full one"
        sizes.add_argument(
            f"--{name}", dest="size", action="store_const", const=name, help=text
        )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one")
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    parser.set_defaults(size="full")
    return parser.parse_args(arguments)


def _show(found: Found) -> None:
    console = Console()
    if found.rates:
        console.print(_rates_table(found.rates))
    if found.drains:
        console.print(_drains_table(found.drains))
        _say_drain(console, found.drains)
    for idle in found.idle:
        console.print(
            f"upkeep over {idle.backlog:,} due rows: sweeper's session"
            f" {idle.sweeper:.2f} %, all of upkeep {idle.upkeep:.2f} % of a core"
            f" (aim: under {AIM_IDLE_PERCENT:.0f} %)"
        )
    if found.bloats:
        console.print(_bloats_table(found.bloats))


def _rates_table(rates: list[Cost]) -> Table:
    count = rates[0].entries
    table = Table(title=f"Three stages of {count:,} entries, and bare statements")
    for column in ("", "entries/s", "CPU us/entry", "WAL bytes/entry", "of bare"):
        table.add_column(column, justify="right" if column else "left")
    for at, one in enumerate(rates):
        # Three bare statements stand before the three steps that they are like.
        bare = None if one.is_bare else rates[at - 3]
        table.add_row(
            one.name,
            f"{one.per_second:,.0f}",
            f"{one.cpu_seconds * _MEGA / count:.1f}",
            f"{one.wal_bytes / count:,.0f}",
            f"{one.per_second * 100 / bare.per_second:.0f} %" if bare else "",
        )
    return table


def _drains_table(drains: list[Drain]) -> Table:
    table = Table(title="Drains by real workers, one upsert an entry")
    for column in ("backlog", "done", "s", "entries/s", "of the first", "messages"):
        table.add_column(column, justify="right")
    for one in drains:
        table.add_row(
            f"{one.backlog:,}",
            f"{one.done:,}",
            f"{one.seconds:.1f}",
            f"{one.per_second:,.0f}",
            f"{one.per_second * 100 / drains[0].per_second:.0f} %",
            f"{one.most_messages}",
        )
    return table


def _say_drain(console: Console, drains: list[Drain]) -> None:
    percent = drains[-1].per_second * 100 / drains[0].per_second
    console.print(
        f"the largest backlog drains at {percent:.0f} % of the smallest's rate"
        f" (aim: at least {AIM_DRAIN_PERCENT} %); messages in the broker at most"
        f" {max(one.most_messages for one in drains)};"
        f" worked twice: {sum(one.worked_twice for one in drains)};"
        f" complaints of the processes: {drains[-1].troubles or 'none'}"
    )


def _bloats_table(bloats: list[Bloat]) -> Table:
    table = Table(title=f"{bloats[0].rows:,} rows claimed and ended by one session")
    for column in ("", "without", "beside an old snapshot"):
        table.add_column(column, justify="right" if column else "left")
    pairs: dict[str, list[float]] = {
        "table before, MB": [one.table_before / _MEGA for one in bloats],
        "indexes before, MB": [one.indexes_before / _MEGA for one in bloats],
        "table after, MB": [one.table_after / _MEGA for one in bloats],
        "indexes after, MB": [one.indexes_after / _MEGA for one in bloats],
        "dead rows": [one.dead for one in bloats],
        "a sweep afterwards, ms": [one.sweep_ms for one in bloats],
        "rows/s in the first fifth": [one.per_second[0] for one in bloats],
        "rows/s in the last fifth": [one.per_second[-1] for one in bloats],
    }
    for name, values in pairs.items():
        table.add_row(name, *(f"{value:,.1f}" for value in values))
    return table


if __name__ == "__main__":
    main()
