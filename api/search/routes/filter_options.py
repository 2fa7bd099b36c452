"""Which values a filter can be given here."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.context import Caller, Ctx, needs
from api.search.schemas.filter_options import FilterOptions, OptionField
from api.server.errors import documented
from api.server.json_response import as_json
from api.strict_route import DoorRoute
from shared.search.query.facet_request import Counting
from shared.search.query.plan import SearchQuery
from shared.search.retrieval.modules import filter_options

router = APIRouter(prefix="/v1", tags=["search"], route_class=DoorRoute)

Values = Annotated[list[str] | None, Query(max_length=100)]
Time = Annotated[str | None, Query(max_length=100)]


def narrowed(
    *,
    author: Values = None,
    category: Values = None,
    device: Values = None,
    kind: Values = None,
    level: Values = None,
    logbook: Values = None,
    shift: Values = None,
    source: Values = None,
    system: Values = None,
    tag: Values = None,
    date_from: Time = None,
    date_to: Time = None,
) -> dict[str, object]:
    """Return the filters of a request's address; one given twice means either."""
    listed = {
        "author": author,
        "category": category,
        "device": device,
        "kind": kind,
        "level": level,
        "logbook": logbook,
        "shift": shift,
        "source": source,
        "system": system,
        "tag": tag,
    }
    times = {"date_from": date_from, "date_to": date_to}
    given: dict[str, object] = {n: {"in": one} for n, one in listed.items() if one}
    return given | {name: one for name, one in times.items() if one is not None}


@router.get(
    "/filter-options/{field}",
    summary="What a filter can be given here",
    response_model=FilterOptions,
    responses=documented(),
    dependencies=[Depends(needs("search"))],
)
def get_filter_options(
    field: OptionField,
    caller: Caller,
    ctx: Ctx,
    filters: Annotated[dict[str, object], Depends(narrowed)],
    prefix: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Response:
    """The commonest values of entries that the caller may see and filters leave."""
    plan = ctx.searches.plan(SearchQuery("", filters=filters), caller.scope)
    name = filter_options.ALIASES.get(field, field)
    counting = Counting((name,), max_matches=ctx.settings.facet_max_matches)
    found = filter_options.list_options(
        plan,
        ctx.searches.context,
        ctx.settings.search.facet_budget_ms / 1000,
        counting,
        prefix=prefix,
        limit=limit,
    )
    options = [{"value": v, "label": v, "count": n} for v, n in found.values]
    return as_json({"field": field, "options": options, "exact": found.exact})
