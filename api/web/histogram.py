"""Entries by time as bars, each a link that narrows the search to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from api.web.clock_times import read_moment
from api.web.search_form import TO, SearchForm
from shared.times.rfc3339 import timestamp

WIDTH, HEIGHT = 600, 56
_LEAST = 2.0
_GAP = 1.0
# A range ends with its last moment, and a bar before the next one begins.
_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bucket: where it is drawn, how many it counts, and its address."""

    x: float
    y: float
    width: float
    height: float
    since: str
    # Its last moment.
    until: str
    count: int
    query: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """All bars, and the addresses of the stretches before and behind."""

    bars: list[Bar]
    earlier: Mapping[str, Any]
    later: Mapping[str, Any]
    whole: Mapping[str, Any]
    total: int
    exact: bool


def draw(facet: Mapping[str, Any] | None, form: SearchForm) -> Chart | None:
    """Return the bars of a count by date, or nothing where nothing was counted."""
    buckets = facet["buckets"] if facet else []
    if facet is None or not buckets:
        return None
    most = max(one["count"] for one in buckets) or 1
    step = WIDTH / len(buckets)
    bars = []
    for number, one in enumerate(buckets):
        height = one["count"] / most * (HEIGHT - _LEAST) + _LEAST if one["count"] else 0
        query = _between(form, one["from"], one["to"])
        bars.append(
            Bar(
                x=round(number * step, 2),
                y=round(HEIGHT - height, 2),
                width=round(max(step - _GAP, 1), 2),
                height=round(height, 2),
                since=one["from"],
                until=query[TO],
                count=one["count"],
                query=query,
            )
        )
    first, last = read_moment(buckets[0]["from"]), read_moment(buckets[-1]["to"])
    reach = last - first
    return Chart(
        bars=bars,
        earlier=_between(form, first - reach, first),
        later=_between(form, last, last + reach),
        whole=form.changed(since="", until=""),
        total=sum(one["count"] for one in buckets),
        exact=facet["exact"],
    )


def _between(
    form: SearchForm, since: str | datetime, until: str | datetime
) -> Mapping[str, Any]:
    ends = timestamp(read_moment(since)), timestamp(read_moment(until) - _MOMENT)
    return form.changed(since=ends[0], until=ends[1])
