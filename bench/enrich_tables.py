"""What the bench of enrichment prints: each number beside what it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bench import enrich_embed, enrich_latency, enrich_stages
from bench.enrich_pipeline import AIM_EMBED_MB, AIM_MB, AIM_MB_A_MINUTE
from bench.enrich_texts import MEDIAN_PIECES, P95_PIECES
from shared.messaging.stage_names import INDEX_STAGE

if TYPE_CHECKING:
    from bench.enrich_numbers import Found
    from bench.enrich_pipeline import Held, Run

_EMBED = "enhance.embed"
_WORKERS = ("enhance.", "search", "ingest", "chores", "upkeep")


def show(console: Console, found: Found) -> None:
    """Print what was measured, and nothing of what was not."""
    load = ", ".join(f"{one:.1f}" for one in found.load)
    console.print(f"load average at the beginning: {load}")
    if found.analysed:
        console.print(_analysed(found))
    if found.pieces:
        console.print(
            f"word pieces of an entry: median {found.pieces['median']:.0f} (wanted"
            f" {MEDIAN_PIECES}), p95 {found.pieces['p95']:.0f} (wanted {P95_PIECES})"
        )
    if found.stages:
        console.print(_stages(found))
        _say_index(console, found)
    if found.embedding:
        console.print(_embedding(found))
        console.print(_inserts(found))
    for run in found.runs:
        _say_run(console, run)
        console.print(_memory(run))
    if found.latencies:
        console.print(_latencies(found))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if at else "left")
    return table


def _analysed(found: Found) -> Table:
    table = _table("Texts a second of processor time, one core", "", "/s", "aim")
    for one in found.analysed:
        aim = f"{one.aim:,}" if one.aim else ""
        table.add_row(one.name, f"{one.per_second:,.0f}", aim)
    return table


def _stages(found: Found) -> Table:
    title = "Each stage's task alone, in one process"
    table = _table(title, "", "entries", "entries/s")
    for one in found.stages:
        table.add_row(one.name, f"{one.entries:,}", f"{one.per_second:,.0f}")
    return table


def _say_index(console: Console, found: Found) -> None:
    by_name = {one.name: one for one in found.stages}
    ours = by_name[INDEX_STAGE].per_second
    bare, again = (
        next(one.per_second for one in found.stages if one.name.startswith(name))
        for name in ("bare", enrich_stages.AGAIN)
    )
    console.print(
        f"index: {ours:,.0f} entries/s (aim {enrich_stages.AIM_INDEX:,}),"
        f" {100 * ours / bare:.0f} % of the bare client"
        f" (aim {enrich_stages.AIM_INDEX_PERCENT} %), and {100 * ours / again:.0f} %"
        " where that, too, writes over what is there"
    )


def _embedding(found: Found) -> Table:
    title = f"Vectors by {enrich_embed.THREADS} threads, beside the encoder alone"
    columns = ("texts", "of ours /s", "encoder /s", "of it", "aim", "index made, s")
    table = _table(title, "pieces, index", *columns, "rows")
    for one in found.embedding:
        aim = enrich_embed.AIMS[one.pieces, one.way]
        table.add_row(
            f"{one.pieces}, {one.way}",
            f"{one.texts:,}",
            f"{one.texts / one.seconds:,.0f}",
            f"{one.texts / one.bare_seconds:,.0f}",
            f"{one.percent:.0f} %",
            f"{aim} %",
            f"{one.build_seconds:.1f}" if one.build_seconds else "",
            f"{one.rows:,}",
        )
    return table


def _inserts(found: Found) -> Table:
    table = _table("Vectors into a live index", "at a commit", "rows", "rows/s")
    for one in found.inserts:
        rate = one.rows / max(one.seconds, 1e-9)
        table.add_row(f"{one.batch}, {one.order}", f"{one.rows:,}", f"{rate:,.0f}")
    return table


def _say_run(console: Console, run: Run) -> None:
    console.print(
        f"whole pipeline: {run.entries:,} entries accepted in"
        f" {run.accepted_seconds:.1f} s, enriched in {run.seconds:.1f} s:"
        f" {run.per_second:,.0f} entries/s, the slowest stage is {run.slowest};"
        f" quarantined {run.quarantined}"
    )
    for one in run.stages:
        rate = run.entries / max(one.seconds, 1e-9)
        console.print(f"  {one.name}: ended at {one.seconds:.1f} s, {rate:,.0f}/s")
    told = ", ".join(f"{name} {size:,.0f}" for name, size in run.disk.items())
    console.print(f"disk, MB: {told}")


def _memory(run: Run) -> Table:
    columns = ("most, MB", "aim", "grew, MB/min", "CPU s")
    table = _table("Memory of each kind, its processes together", "", *columns)
    for one in run.memory:
        aim = AIM_EMBED_MB if one.kind == _EMBED else AIM_MB
        table.add_row(
            one.kind,
            f"{one.most_mb:,.0f}",
            f"{aim}" if one.kind.startswith(_WORKERS) else "",
            _growth(one),
            f"{one.cpu_seconds:,.1f}",
        )
    return table


def _growth(one: Held) -> str:
    """Return how it grew; of a worker beside whether it is flat."""
    if one.mb_a_minute is None:
        return "too short to tell"
    told = f"{one.mb_a_minute:+.1f}"
    is_steep = one.kind.startswith(_WORKERS) and one.mb_a_minute >= AIM_MB_A_MINUTE
    return f"{told}, not flat" if is_steep else told


def _latencies(found: Found) -> Table:
    aim = f"aim: p95 under {enrich_latency.AIM_SECONDS:.0f} s at"
    title = f"Seconds from accepted to findable ({aim} {enrich_latency.AIM_RATE}/s)"
    columns = ("entries", "p50", "p95", "p99", "most", "never")
    table = _table(title, "entries/s, branch", *columns)
    for one in found.latencies:
        times = (f"{s:.2f}" for s in (one.p50_s, one.p95_s, one.p99_s, one.most_s))
        name = f"{one.rate}, {one.branch}"
        table.add_row(name, f"{one.entries:,}", *times, str(one.never))
    return table
