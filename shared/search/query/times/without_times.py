"""A question without the times that were read out of its words, which finds more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shared.search.jobs.compatibility import read_fields, to_json_value
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import And, Field, Node, Or


@dataclass(frozen=True, slots=True)
class Elsewhen:
    """A question without its times: the words, and the filters that remain."""

    tree: Node
    filters: Filters
    # The same time in earlier years, where no year was named: from, and before.
    earlier: tuple[tuple[str, str], ...] = ()

    @property
    def in_earlier_years(self) -> Elsewhen | None:
        """Return the question in any earlier year; None: the question names a year."""
        if not self.earlier:
            return None
        spans = [Filters(since=one, until=other) for one, other in self.earlier]
        first, last = min(self.earlier)[0], max(self.earlier)[1]
        narrowed = self.filters.both(Filters(since=first, until=last))
        if narrowed is None:
            return None
        # The fields stand for years of one time and have no text of their own.
        fields = (Field(one, 0, "date", f"date:{one.since}") for one in spans)
        return Elsewhen(And((self.tree, Or(tuple(fields)))), narrowed, self.earlier)

    def to_values(self) -> dict[str, Any]:
        """Return the question and its filters as the values of JSON."""
        return {
            "tree": tree.to_values(self.tree),
            "filters": to_json_value(self.filters),
            "earlier": self.earlier,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read the question and its filters back from a plan's JSON."""
        return read_fields(cls, {**values, "tree": tree.from_values(values["tree"])})
