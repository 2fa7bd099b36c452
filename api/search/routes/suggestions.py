"""Questions that a page offers: whether each would be answered, before it is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

from fastapi import Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.search.schemas.ambient import dump_ambient
from api.search.schemas.suggestions import SuggestionsIn, SuggestionsOut
from api.search.unified_search import require_unified_search
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.log import get_logger
from shared.search.absence import coverage
from shared.search.query.plan import SearchQuery
from shared.text import door

log = get_logger()

_COVERAGE_MS = 100

router = strict_router(
    "/v1/search/suggestions", "search", needs("search"), require_unified_search
)


@router.post("/evaluate")
@described("Tell which questions would be answered with evidence", SuggestionsOut)
async def post_suggestions(body: SuggestionsIn, caller: Caller, ctx: Ctx) -> Response:
    """Nothing is recorded of it, and nothing carried into a session."""
    return as_json(await evaluate(body, caller, ctx))


async def evaluate(
    body: SuggestionsIn, caller: CallerInfo, ctx: ApiContext
) -> dict[str, Any]:
    """Return the answer to a page that offers questions."""
    approved = await ctx.searches.glossaries.of(caller.scope.tenant)
    await ctx.searches.scores.refresh()
    within = body.scope.model_dump(exclude_defaults=True) if body.scope else {}
    ambient = dump_ambient(body.ambient)
    door.check_tree(within, "scope")
    door.check_tree(ambient, "ambient")
    queries = [door.admit(one, "queries") for one in body.queries]
    items = await asyncio.to_thread(
        partial(
            ctx.suggestions.evaluate, queries, caller.scope, approved, within, ambient
        )
    )
    kinds = sum((one.kinds for one in items), Counter[str]())
    log.info("suggestions_evaluated", queries=len(items))
    return {
        "items": [
            {
                "query": one.query,
                "viable": one.viable,
                "viability_state": one.state,
                "scope_ready": one.scope_ready,
                "evidence_count": one.evidence_count,
            }
            for one in items
        ],
        "coverage": await asyncio.to_thread(_coverage, caller, ctx, kinds),
    }


def _coverage(
    caller: CallerInfo, ctx: ApiContext, kinds: Counter[str]
) -> dict[str, Any]:
    plan = ctx.searches.plan(SearchQuery(""), caller.scope)
    found = coverage.measure_beside_hits(ctx.pool, plan, (), _COVERAGE_MS)
    return {**found.body(kinds), "nearest": []}
