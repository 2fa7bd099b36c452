"""Questions that a page offers: whether each would be answered, before it is asked."""

import asyncio
from collections import Counter
from typing import Any

from fastapi import Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.search.schemas.ambient import dump_ambient
from api.search.schemas.suggestions import SuggestionOut, SuggestionsIn, SuggestionsOut
from api.search.unified_search import require_unified_search
from api.server.body_model import dump_fields
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
@described("Tell which questions would be answered with evidence", SuggestionsOut, 504)
async def post_suggestions(body: SuggestionsIn, caller: Caller, ctx: Ctx) -> Response:
    """Nothing is recorded of it, and nothing carried into a session."""
    approved = await ctx.searches.glossaries.of(caller.scope.tenant)
    await ctx.searches.scores.refresh()
    within = body.scope.model_dump(exclude_defaults=True) if body.scope else {}
    ambient = dump_ambient(body.ambient)
    door.check_tree(within, "scope")
    door.check_tree(ambient, "ambient")
    queries = [door.admit(one, "queries") for one in body.queries]
    items = await asyncio.to_thread(
        ctx.suggestions.evaluate, queries, caller.scope, approved, within, ambient
    )
    kinds = sum((one.kinds for one in items), Counter[str]())
    log.info("suggestions_evaluated", queries=len(items))
    told = [dump_fields(SuggestionOut, one, viability_state=one.state) for one in items]
    coverage = await asyncio.to_thread(_coverage, caller, ctx, kinds)
    return as_json({"items": told, "coverage": coverage})


def _coverage(
    caller: CallerInfo, ctx: ApiContext, kinds: Counter[str]
) -> dict[str, Any]:
    plan = ctx.searches.plan(SearchQuery(""), caller.scope)
    found = coverage.measure_beside_hits(ctx.pool, plan, (), _COVERAGE_MS)
    return {**found.body(kinds), "nearest": []}
