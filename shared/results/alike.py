"""What happened like an entry before, as an answer shows hits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shared.entries import reading
from shared.postgres import connection
from shared.query.compiled.question import compiled
from shared.ranking import fold
from shared.ranking.rank import rank
from shared.results import facts
from shared.results.highlights import Reader
from shared.results.page import read_page
from shared.results.response import hits
from shared.retrieval import alike, columns

if TYPE_CHECKING:
    from uuid import UUID

    from shared.postgres import Pool
    from shared.query.plan import Plan
    from shared.text.facility import Facility

# What each step may take.
STEP_MS = 2000


def read(
    pool: Callable[[], Pool], facility: Facility, plan: Plan, entry_id: UUID
) -> dict[str, Any]:
    """Return the entries most like one that the caller may see, best first."""
    with connection(pool()) as conn:
        entry = reading.present(reading.current(conn, plan.scope, entry_id))
        columns.limit_time(conn, STEP_MS)
        found = alike.find(conn, plan, entry)
    # Nothing was asked in words, so nothing is too weak: the nearest are told, and how
    # near they are.
    ordering = replace(
        plan.ordering,
        rerank=False,
        by_model=False,
        min_relevance_score=None,
        strict=False,
        source_share=1.0,
    )
    plan = replace(plan, branches=tuple(one.name for one in found), ordering=ordering)
    known = facts.read(pool, plan, found, STEP_MS)
    order = rank(found, known, plan)
    page = read_page(pool, plan, fold.runs(order.items), STEP_MS)
    texts = Reader(compiled(plan.tree, facility, max_terms=plan.max_terms), facility)
    results = hits(plan, page, texts)
    return {
        "entry_id": str(entry_id),
        "results": results,
        "total_results": len(results),
        "branches": [one.summary() for one in found],
    }
