"""What is like an entry, and no part of its thread."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from api.context import Caller, Ctx, needs
from api.search.hit_amount import HitAmount
from api.search.schemas.hits import SimilarEntries
from api.server.json_response import as_json
from api.server.parameters import PageSize
from api.strict_route import audited, described, strict_router
from shared.search.query import result_detail
from shared.search.query.plan import SearchQuery
from shared.search.response import similar_hits

router = strict_router("/v1/entries", "search", needs("search"))

MOST_DAYS = 36_500


@router.get("/{entry_id}/similar")
@described("Find what is like an entry", SimilarEntries, 404, 410)
@audited("search")
def get_similar(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    amount: HitAmount,
    limit: PageSize = 10,
    days: Annotated[
        int | None,
        Query(ge=1, le=MOST_DAYS, description="Only what was written since so long."),
    ] = None,
) -> Response:
    """By meaning, and by the devices and systems that both name; never its thread."""
    filters: dict[str, object] = {}
    if days is not None:
        since = datetime.now(UTC) - timedelta(days=days)
        filters["date_from"] = since.isoformat()
    plan = ctx.searches.plan(
        SearchQuery("", limit=limit, filters=filters), caller.scope
    )
    found = similar_hits.find_similar_hits(ctx.searches.context, plan, entry_id)
    wanted = amount.instead_of(result_detail.WHOLE)
    results, cut = result_detail.trim_results(found["results"], wanted)
    return as_json({**found, "results": results, "cut": cut})
