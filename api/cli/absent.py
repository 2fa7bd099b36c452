"""`logchord search` that found nothing: what that means, and what came near."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from api.cli.terminal import plain

_TITLE = 40
_GATES = {
    "below_min_relevance": "scored too low",
    "below_confidence": "is doubtful",
    "below_similarity": "is too far in meaning",
    "outside_window": "was written at another time",
}


def lines(answer: dict[str, Any], width: int) -> Iterator[str]:
    """Yield what was searched and what is unknown, then what came near."""
    said = answer["context_answer"]
    yield from textwrap.wrap(
        plain(said["summary"] if said else "Nothing was found."), width
    )
    for one in (answer["coverage"] or {}).get("nearest", []):
        yield f"near      {plain(_near(one))}"
    yield ""


def _near(one: dict[str, Any]) -> str:
    title = textwrap.shorten(one["title"], _TITLE) if one["title"] else "(no title)"
    why = _GATES.get(one["gate"], f"kept out by {one['gate']}")
    numbers = ""
    if one["value"] is not None:
        numbers = f": {one['value']:.2f}, {one['limit']:.2f} needed"
    return f"{one['source']}/{one['external_id']}  {title}  {why}{numbers}"
