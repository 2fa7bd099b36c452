"""The parts of a question that asks several things, each answered by itself."""

from __future__ import annotations

from shared.search.query import modes, sub_queries
from shared.search.query.plan import Plan
from shared.text.facility.facility import Facility

# What is asked for in one breath is answered in one, unless each was searched. Each
# side of a comparison has its paragraph, however far its hits score below the other's:
# one that is left out for its score would pass for one of which nothing is written.
_ASKED_APART = frozenset({"multi_question", "comparison"})


def list_parts(plan: Plan, facility: Facility) -> list[str]:
    """Return the parts in order; of a question that asks one thing, itself alone."""
    found = sub_queries.take_apart(plan.tree, plan.query, facility)
    is_apart = found.strategy in _ASKED_APART
    if is_apart or (plan.method == modes.AGENTIC and found.has_parts):
        return list(found.parts)
    return [plan.query]
