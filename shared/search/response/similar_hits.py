"""Finds the entries most like a given one: the hits of its branches in one order."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from shared.entries.reading import read_entries
from shared.postgres import statement_deadline
from shared.postgres.pool import connection
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.rank import rank
from shared.search.results import ranking_features
from shared.search.results.highlights import Highlighter
from shared.search.results.mark_passages import mark_passages
from shared.search.results.result_page import read_page
from shared.search.retrieval.modules import similar_branches
from shared.search.retrieval.search_context import SearchContext

# How long each step may take.
STEP_MS = 2000


def find_similar_hits(
    context: SearchContext, plan: Plan, entry_id: UUID
) -> dict[str, Any]:
    """Return the visible entries that are most like a given one, best first."""
    with connection(context.pool) as conn:
        entry = read_entries.load_present_entry(conn, plan.scope, entry_id)
        statement_deadline.limit_time(conn, STEP_MS)
        found = similar_branches.find(conn, plan, entry)
    # There is no question in words, so no entry is too weak: the nearest are shown with
    # their scores.
    ordering = replace(
        plan.ordering,
        rerank=False,
        by_model=False,
        min_relevance_score=None,
        strict=False,
        source_share=1.0,
    )
    plan = replace(plan, branches=tuple(one.name for one in found), ordering=ordering)
    known = ranking_features.load_ranking_features(context, plan, found, STEP_MS)
    order = rank(found, known, plan)
    page = read_page(context.pool, plan, fold.group_runs(order.items), STEP_MS)
    facility = context.facility
    asked = compile_question(plan.tree, facility, max_terms=plan.words.max_terms)
    hits = mark_passages(context, plan.scope.tenant, page, Highlighter(asked, facility))
    return {
        "entry_id": str(entry_id),
        "results": [hit.to_json() for hit in hits],
        "total_results": len(hits),
        "branches": [one.summary() for one in found],
    }
