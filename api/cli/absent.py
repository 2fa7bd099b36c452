"""`logchord search` that found nothing: what that means, and what came near."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from api.cli.terminal import local, plain

_TITLE = 40
_MOST_SOURCES = 5
_GATES = {
    "below_min_relevance": "scored too low",
    "below_confidence": "is doubtful",
    "below_similarity": "is too far in meaning",
    "outside_window": "was written at another time",
}


def lines(answer: dict[str, Any], width: int, zone: ZoneInfo) -> Iterator[str]:
    """Yield what was searched, over what time, what is unknown and what came near."""
    said = answer["context_answer"]
    yield from textwrap.wrap(
        plain(said["summary"] if said else "Nothing was found."), width
    )
    coverage = answer["coverage"] or {}
    # Of what is pushed nobody knows whether it is all.
    read = [one for one in coverage.get("sources", []) if one["complete_to"]]
    for one in read[:_MOST_SOURCES]:
        yield f"searched  {plain(_reach(one, zone))}"
    if len(read) > _MOST_SOURCES:
        yield f"searched  and {len(read) - _MOST_SOURCES} more: --json has all"
    for one in coverage.get("nearest", []):
        yield f"near      {plain(_near(one))}"
    yield ""


def _reach(one: dict[str, Any], zone: ZoneInfo) -> str:
    began = f" from {local(one['complete_from'], zone)}" if one["complete_from"] else ""
    gaps = f", but for {len(one['gaps'])} gaps" if one["gaps"] else ""
    return (
        f"{one['source']}, complete{began} to {local(one['complete_to'], zone)}{gaps}"
    )


def _near(one: dict[str, Any]) -> str:
    title = textwrap.shorten(one["title"], _TITLE) if one["title"] else "(no title)"
    why = _GATES.get(one["gate"], f"kept out by {one['gate']}")
    numbers = ""
    if one["value"] is not None:
        numbers = f": {one['value']:.2f}, {one['limit']:.2f} needed"
    return f"{one['source']}/{one['external_id']}  {title}  {why}{numbers}"
