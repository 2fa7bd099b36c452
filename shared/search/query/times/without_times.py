"""A question without the times that were read out of its words: what it also finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shared.search.jobs.compatibility import to_json_value
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import Node


@dataclass(frozen=True, slots=True)
class Elsewhen:
    """What is asked for whenever it was written, and what else a hit must be."""

    tree: Node
    filters: Filters

    def to_values(self) -> dict[str, Any]:
        """Return it as the values of JSON."""
        return {
            "tree": tree.to_values(self.tree),
            "filters": to_json_value(self.filters),
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read it back."""
        narrowed = Filters.from_values(values["filters"])
        return cls(tree.from_values(values["tree"]), narrowed)
