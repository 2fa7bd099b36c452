"""The sample logbook of Halden Light, a light source that we made up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

PAGE_ENTRIES = 500
SOURCES = ("operations", "maintenance", "beamlines")

_FOLDER = Path(__file__).parent


def pages() -> Iterator[list[dict[str, Any]]]:
    """First versions, oldest first, then their edits; no page names an entry twice."""
    first = [row for source in SOURCES for row in _rows(source)]
    # By instant, not as text: the offset changes in March.
    yield from _cut(
        sorted(first, key=lambda row: datetime.fromisoformat(row["entry_time"]))
    )
    yield from _cut(_rows("edits"))


def three_commands() -> list[str]:
    """Searches that neither words alone nor meaning alone can answer as well."""
    return [
        'logchord search "lightning struck, particles vanished"',
        'logchord search "LOTO-2026-0117"',
        'logchord search "rodents chewed SW-12"',
    ]


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _cut(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    page: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        identity = (row["source"], row["external_id"])
        # Within one page two versions of an entry would have no order.
        if identity in page or len(page) == PAGE_ENTRIES:
            yield list(page.values())
            page = {}
        page[identity] = row
    if page:
        yield list(page.values())
