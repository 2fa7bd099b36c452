"""Finds hits beyond the scope of a page that are as good as the best within it.

A scope is a bias and no filter: a hit that it moves down must not be overlooked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.ranked_hits import Ranked
from shared.search.response.search_answer import Overflow
from shared.search.results.conclude import Conclusion
from shared.search.results.mark_passages import make_marker, mark_passages
from shared.search.results.result_page import read_page
from shared.search.retrieval.search_context import SearchContext

log = get_logger()

MOST = 3
# With less time left the page is shown without them.
LEAST_MS = 50
_FACTOR = "scope"


class ScopeRivals(NamedTuple):
    """The hits beyond a scope that rival its best one, best first, and why."""

    items: Sequence[Ranked]
    reason: Literal["stronger", "close_band"]


def find_scope_overflow(
    context: SearchContext, plan: Plan, conclusion: Conclusion, left_ms: int
) -> Overflow | None:
    """Return the best hits beyond the scope; None: none is as good as those within."""
    ordering = plan.ordering
    if not any(ordering.scope.values()) or plan.is_listing or left_ms < LEAST_MS:
        return None
    rivals = choose_rivals(
        conclusion.ranked, ordering.overflow_band, ordering.overflow_lead
    )
    if rivals is None:
        return None
    shown = replace(plan, limit=len(rivals.items))
    try:
        page = read_page(
            context.pool,
            shown,
            fold.group_runs(rivals.items),
            left_ms,
            with_values=False,
        )
        marker = make_marker(context, shown, conclusion, page)
        hits = mark_passages(context, plan.scope.tenant, page, marker)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.warning("scope_overflow_not_read", code=exc.error_code)
        return None
    if not hits:
        return None
    return Overflow(hits, rivals.reason, ordering.overflow_band)


def choose_rivals(
    items: Sequence[Ranked], band: float, lead: float
) -> ScopeRivals | None:
    """Choose the hits that score more than the best within the scope, or nearly so."""
    within = [one.relevance_score for one in items if _FACTOR in one.factors]
    outside = sorted(
        (one for one in items if _FACTOR not in one.factors),
        key=lambda one: -one.relevance_score,
    )
    if not outside:
        return None
    winner, best = max(within, default=0.0), outside[0].relevance_score
    # Scores have six digits where they are compared for equality.
    if best < round(winner * (1 - lead), 6):
        return None
    near = [
        one for one in outside if one.relevance_score >= round(winner * (1 - band), 6)
    ]
    if not near:
        return None
    return ScopeRivals(near[:MOST], "stronger" if best > winner else "close_band")
