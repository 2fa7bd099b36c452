"""What was measured of searches, as a table beside the floor and the aims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.enrich_pipeline import Held
from bench.search_bare import Recall, floor_of
from bench.search_load import Beside, Throughput
from bench.search_stack import Timing

FAN_OUT = "fan-out alone"
# Aimed at over 100,000 entries on two cores, by one client; milliseconds.
AIMED_AT_ENTRIES = 100_000
_P50 = {"hybrid, fused only": 20.0, "hybrid, as shipped": 60.0, FAN_OUT: 9.0}
_P95 = {"hybrid, fused only": 40.0}
_OF_BARE, _NOTHING_MORE_MS = 1.5, 15.0
_A_SECOND, _PROCESSOR_MS = 75.0, 25.0


@dataclass
class Found:
    """All that one run measured over so many entries."""

    entries: int
    # Vectors that no model made: real ones of other entries, moved by noise.
    resampled_vectors: int
    filled_in_seconds: float
    load: tuple[float, float, float]
    searches: list[Timing] = field(default_factory=list)
    recall: Recall | None = None
    throughput: list[Throughput] = field(default_factory=list)
    beside: Beside | None = None
    long: Throughput | None = None
    memory: list[Held] = field(default_factory=list)

    def p50(self, kind: str) -> float:
        """Return how long one kind of search took."""
        return next(one.p50_ms for one in self.searches if one.kind == kind)

    def floor(self, kind: str) -> float | None:
        """Return how long the slowest bare engine took that it cannot do without."""
        return max(map(self.p50, floor_of(kind)), default=None)

    def aim(self, kind: str) -> float | None:
        """Return what its p50 is to be at most, if anything is aimed at."""
        if kind == "keyword, nothing":
            return round(self.p50("keyword, common") + _NOTHING_MORE_MS, 1)
        floor = self.floor(kind)
        if kind.startswith("keyword") and floor is not None:
            return round(_OF_BARE * floor + self.p50(FAN_OUT), 1)
        return _P50.get(kind) if self.entries >= AIMED_AT_ENTRIES else None


def show(console: Console, found: Found) -> None:
    """Print one size: every row beside its floor and its aim, and the rates."""
    title = f"Searches over {found.entries} entries, every question another"
    table = Table(title=title, caption=_labelled(found))
    for column in (
        "",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "of its floor",
        "aim",
        "with hits",
    ):
        table.add_column(column, justify="right" if column else "left")
    for one in found.searches:
        times = (f"{ms:.1f}" for ms in (one.p50_ms, one.p95_ms, one.p99_ms))
        floor = found.floor(one.kind)
        ratio = "" if floor is None else f"{one.p50_ms / floor:.1f} x"
        table.add_row(
            one.kind, *times, ratio, _aimed_at(found, one), f"{one.with_hits:.0%}"
        )
    if found.recall:
        recall = f"{found.recall.mean:.1%}"
        table.add_row("recall@10 of the index", *5 * ("",), recall)
    console.print(table)
    for rate in found.throughput:
        console.print(told(rate))
    if found.entries >= AIMED_AT_ENTRIES and found.throughput:
        best = max(one.per_second for one in found.throughput)
        least = min(sum(one.processor_ms.values()) for one in found.throughput)
        console.print(
            f"At most {best:.1f} a second; aimed at {_A_SECOND:.0f}."
            f" At least {least:.1f} ms of processor each; aimed at {_PROCESSOR_MS:.0f}."
        )
    if found.long:
        console.print(f"For long: {told(found.long)}")
        for held in found.memory:
            console.print(_held(held))
    if found.beside:
        console.print(
            f"Beside a backfill of {found.beside.backfill} entries"
            f" ({found.beside.stages_per_second} stages ended a second,"
            f" {found.beside.left} left):"
        )
        for rate in found.beside.searches:
            console.print(told(rate))


def compare(console: Console, runs: Sequence[Found]) -> None:
    """Print how much longer each search takes over the largest logbook."""
    first, *_, last = sorted(runs, key=lambda one: one.entries)
    table = Table(title=f"p50 over {last.entries} entries beside {first.entries}")
    for column in ("", "ms", "ms", "ratio"):
        table.add_column(column, justify="right" if column else "left")
    for one in first.searches:
        now = last.p50(one.kind)
        ratio = f"{now / one.p50_ms:.2f} x"
        table.add_row(one.kind, f"{one.p50_ms:.1f}", f"{now:.1f}", ratio)
    console.print(table)


def compare_with_before(
    console: Console, before: Sequence[Mapping[str, Any]], runs: Sequence[Found]
) -> None:
    """Print each kind of search beside a run that was kept earlier."""
    kept = {one["entries"]: one for one in before}
    table = Table(title="Before and after")
    for column in ("entries", "", "p50 ms", "now", "p95 ms", "now", "ratio of p50"):
        table.add_column(column, justify="right" if column else "left")
    for run in runs:
        earlier = kept.get(run.entries, {"searches": []})
        by_kind = {one["kind"]: one for one in earlier["searches"]}
        for one in run.searches:
            was = by_kind.get(one.kind)
            if was is None:
                continue
            values = (was["p50_ms"], one.p50_ms, was["p95_ms"], one.p95_ms)
            ratio = f"{one.p50_ms / was['p50_ms']:.2f} x"
            told_ms = (f"{value:.1f}" for value in values)
            table.add_row(str(run.entries), one.kind, *told_ms, ratio)
    console.print(table)


def told(rate: Throughput) -> str:
    """Return in a line what so many clients got."""
    parts = ", ".join(f"{name} {ms}" for name, ms in rate.processor_ms.items())
    return (
        f"{rate.per_second:.1f} hybrid searches/s, {rate.clients} at once,"
        f" p50 {rate.p50_ms} ms, p95 {rate.p95_ms} ms, longest {rate.most_ms} ms,"
        f" {rate.refused} refused, {rate.degraded} degraded, {rate.late} late;"
        f" {sum(rate.processor_ms.values()):.1f} ms of processor each ({parts})"
    )


def _labelled(found: Found) -> str | None:
    if not found.resampled_vectors:
        return None
    return (
        f"{found.resampled_vectors} vectors are resampled: those of the first"
        f" {found.entries - found.resampled_vectors} entries, moved by noise"
    )


def _aimed_at(found: Found, one: Timing) -> str:
    pairs = [
        (one.p50_ms, found.aim(one.kind)),
        (one.p95_ms, _P95.get(one.kind) if _is_large(found) else None),
    ]
    aims = [(is_, to_be) for is_, to_be in pairs if to_be is not None]
    if not aims:
        return ""
    listed = " / ".join(f"{to_be:.1f}" for _, to_be in aims)
    is_met = all(is_ <= to_be for is_, to_be in aims)
    return listed if is_met else f"{listed} missed"


def _is_large(found: Found) -> bool:
    return found.entries >= AIMED_AT_ENTRIES


def _held(one: Held) -> str:
    grown = "too short to tell" if one.mb_a_minute is None else f"{one.mb_a_minute:.2f}"
    return f"  {one.kind}: at most {one.most_mb:.0f} MB, {grown} MB a minute"
