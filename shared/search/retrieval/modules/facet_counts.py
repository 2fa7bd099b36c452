"""Counts of facets, in the form that both engines give them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.search.query.facet_request import DATE, Counting
from shared.search.query.filters import filters
from shared.search.query.histogram import Buckets, buckets
from shared.times.rfc3339 import timestamp

# How many values of a facet are told, the commonest ones.
MAX_VALUES = 50


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """How many entries match, and of these how many have each value."""

    matches: int
    # Whether nothing was left uncounted.
    exact: bool
    # Values by the filters' name of a facet, the commonest first and one more than is
    # told.
    values: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    attached: int = 0
    times: Buckets | None = None
    # How many entries were written in each bucket.
    written: Sequence[int] = ()

    def __bool__(self) -> bool:
        """Whether anything matches."""
        return self.matches > 0

    def told(self, counting: Counting) -> dict[str, Any]:
        """Return the facets as answers show them, each by the request's name."""
        return {
            called: {"exact": self.exact, **self._facet(name, counting)}
            for name, called in counting.names.items()
        }

    def _facet(self, name: str, counting: Counting) -> dict[str, Any]:
        if name == DATE:
            spans = self.times.spans if self.times else []
            return {
                "interval": self.times.interval if self.times else None,
                "zone": counting.zone,
                "buckets": [
                    {"from": timestamp(since), "to": timestamp(until), "count": count}
                    for (since, until), count in zip(spans, self.written, strict=True)
                ],
            }
        found = list(self.values.get(name, ()))
        if name == filters.HAS_ATTACHMENT:
            others = self.matches - self.attached
            found = [("true", self.attached), ("false", others)]
            found = [one for one in found if one[1]]
        return {
            "values": [{"value": v, "count": n} for v, n in found[:MAX_VALUES]],
            "more": len(found) > MAX_VALUES,
        }


def over_time(
    moments: Mapping[int, int], counting: Counting
) -> tuple[Buckets | None, list[int]]:
    """Return buckets around moments in milliseconds, and the count in each bucket."""
    if not moments:
        return None, []
    found = buckets(at(min(moments)), at(max(moments)), counting.clock)
    counts = [0] * len(found.spans)
    edges = [edge.timestamp() * 1000 for edge in found.edges]
    for moment, number in moments.items():
        counts[bisect_right(edges, moment) - 1] += number
    return found, counts


def at(milliseconds: float) -> datetime:
    """Return the moment, in UTC, of milliseconds since 1970."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
