"""`logchord search --debug`: the plan, when each branch ran, and every hit's score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_BAR = 40


def lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what the answer tells of itself, to be read in a terminal."""
    yield "plan"
    for name, value in sorted(answer["plan"].items()):
        yield f"  {name:<17} {_told(value)}"
    yield "branches"
    yield from _timeline(answer["branches"], answer["search_duration_ms"])
    took = sorted(answer["timings_ms"].items())
    yield "took  " + " · ".join(f"{name} {ms:.1f} ms" for name, ms in took)
    yield "scores"
    for place, one in enumerate(answer["score_trace"], start=1):
        factors = " x ".join(f"{name} {f:g}" for name, f in one["factors"].items())
        yield (
            f"  {place:>2}. {one['calibrated']:.4f} = {one['fused']:.4f}"
            f" x {factors or 'no factors'}"
        )
        yield from (f"      {step}" for step in one["steps"])


def _timeline(branches: list[dict[str, Any]], total_ms: float) -> Iterator[str]:
    """Yield a bar for each branch: waiting as dots, working as hashes."""
    ends = [one["queued_ms"] + one["took_ms"] for one in branches]
    whole = max([total_ms, *ends, 1e-6])
    for one in branches:
        waited = round(_BAR * one["queued_ms"] / whole)
        worked = max(1, round(_BAR * one["took_ms"] / whole))
        bar = ("." * waited + "#" * worked)[:_BAR]
        told = f"{one['queued_ms']:.1f} + {one['took_ms']:.1f} ms"
        again = ", asked twice" if one["attempts"] > 1 else ""
        yield f"  {one['name']:<12} |{bar:<{_BAR}}| {told}, {one['status']}{again}"


def _told(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)
