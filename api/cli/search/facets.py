"""Facets of a search in a terminal: each value with its count, times as a histogram."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli.render.terminal import plain
from api.cli.render.text_layout import cut, padded
from api.cli.search.hit import HitLayout

_BAR, _COUNT, _NAME = 40, 7, 24
# What stands between and before them.
_BLANKS = 5
# From shorter intervals on, the time of day matters.
_WHOLE_DAYS = frozenset({"day", "week", "month", "quarter", "year"})


def lines(facets: dict[str, Any], page: HitLayout) -> Iterator[str]:
    """Yield what all that match are counted by, to be read in a terminal."""
    room = page.facts - _COUNT - _BLANKS
    # The bars give way to the names, and those are cut where they fill the line.
    longest = max(0, min(_BAR, room - _NAME))
    for name, facet in facets.items():
        exact = "" if facet["exact"] else ", of the newest only"
        interval = f" by {facet['interval']}" if facet.get("interval") else ""
        yield click.style(f"{name}{interval}{exact}", bold=True)
        rows = [*_rows(facet, page.zone)]
        most = max((count for _, count in rows), default=0)
        for told, count in rows:
            bar = "#" * (-(-longest * count // most) if most else 0)
            what = padded(cut(told, max(room - longest, 1)), min(_NAME, room))
            yield f"  {what} {count:>{_COUNT}}  {bar}".rstrip()
        if not rows:
            yield "  nothing to count"
        if facet.get("more"):
            yield "  ... and rarer ones"
        yield ""


def _rows(facet: dict[str, Any], zone: ZoneInfo) -> Iterator[tuple[str, int]]:
    for one in facet.get("values", ()):
        yield plain(one["value"]), one["count"]
    interval = facet.get("interval") or ""
    shape = "%Y-%m-%d" if interval in _WHOLE_DAYS else "%Y-%m-%d %H:%M"
    shape = "%Y" if interval.endswith("years") else shape
    for one in facet.get("buckets", ()):
        since = datetime.fromisoformat(one["from"]).astimezone(zone)
        yield since.strftime(shape), one["count"]
