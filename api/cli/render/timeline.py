"""The state and the steps of an incident, with the time from each to the next."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli.render.terminal import fact_width, local, plain, text_width
from api.cli.render.text_layout import joined, wrapped

_INDENT = "    "
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# Beyond, hours are too many to count.
_MOST_HOURS = timedelta(days=2)
# How sure a time is that does not stand in the quote.
_ABOUT = {"beside": "about then", "entry": "when written"}


def render_timeline(thread: Mapping[str, Any], zone: ZoneInfo) -> Iterator[str]:
    """Yield the lines that stand above the entries of a thread."""
    yield f"state     {thread['state']}"
    yield ""
    steps = thread["timeline"]
    times = [datetime.fromisoformat(one["time"]) for one in steps]
    gaps = ["", *(later(after - before) for before, after in pairwise(times))]
    for step, gap in zip(steps, gaps, strict=True):
        facts = (
            step["step"],
            local(step["time"], zone),
            _ABOUT.get(step["time_from"], ""),
            gap,
        )
        for line in joined([fact for fact in facts if fact], fact_width()):
            yield click.style(line, dim=True)
        for line in wrapped(plain(step["quote"]), text_width() - len(_INDENT)):
            yield f"{_INDENT}{line}"
    if steps:
        yield ""


def later(gap: timedelta) -> str:
    """Return `47 min later`; nothing for less than a minute."""
    spelled = spell_gap(gap)
    return f"{spelled} later" if spelled else ""


def spell_gap(gap: timedelta) -> str:
    """Return a time that passed as `47 min`; nothing for less than a minute."""
    if gap < _MINUTE:
        return ""
    if gap < _HOUR:
        return f"{gap // _MINUTE} min"
    if gap < _MOST_HOURS:
        minutes = gap % _HOUR // _MINUTE
        more = f" {minutes} min" if minutes else ""
        return f"{gap // _HOUR} h{more}"
    return f"{gap // _DAY} days"
