"""Which values a filter can be given here."""

from inspect import Parameter, Signature
from typing import Annotated

from fastapi import Depends, Query, Response

from api.context import Caller, Ctx, needs
from api.search.schemas.filter_options import VALUED, FilterOptions, OptionField
from api.server.json_response import as_json
from api.server.parameters import PageSize
from api.strict_route import described, strict_router
from shared.search.query import facet_request
from shared.search.query.facet_request import Counting
from shared.search.query.filters import time_range
from shared.search.query.plan import SearchQuery
from shared.search.retrieval.modules import filter_options

router = strict_router("/v1", "search", needs("search"))

Values = Annotated[list[str] | None, Query(max_length=100)]
Time = Annotated[str | None, Query(max_length=100)]
_TIMES = (time_range.FROM, time_range.TO)


class AddressFilters:
    """The filters of a request's address; one given twice means either."""

    # The framework asks for these parameters, which come from the table of fields.
    __signature__ = Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in (
                *dict.fromkeys(sorted(VALUED), Values).items(),
                *dict.fromkeys(_TIMES, Time).items(),
            )
        ]
    )

    def __call__(self, **given: list[str] | str | None) -> dict[str, object]:
        """Return the given filters as a search takes them."""
        return {
            name: {"in": value} if name in VALUED else value
            for name, value in given.items()
            if value is not None
        }


@router.get("/filter-options/{field}")
@described("What a filter can be given here", FilterOptions)
def get_filter_options(
    field: OptionField,
    caller: Caller,
    ctx: Ctx,
    filters: Annotated[dict[str, object], Depends(AddressFilters())],
    prefix: Annotated[str | None, Query(max_length=100)] = None,
    limit: PageSize = 50,
) -> Response:
    """The commonest values of entries that the caller may see and filters leave."""
    plan = ctx.searches.plan(SearchQuery("", filters=filters), caller.scope)
    name = filter_options.ALIASES.get(field, field)
    counting = Counting((name,), max_matches=ctx.settings.facet_max_matches)
    found = filter_options.list_options(
        plan,
        ctx.searches.context,
        facet_request.BUDGET_MS / 1000,
        counting,
        prefix=prefix,
        limit=limit,
    )
    options = [{"value": v, "label": v, "count": n} for v, n in found.values]
    return as_json({"field": field, "options": options, "exact": found.exact})
