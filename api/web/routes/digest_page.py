"""The digest of a shift, to be read in the first minutes of the next one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from api.context import Caller, Ctx, needs
from api.entries import shift_times
from api.entries.routes.digest import PREVIOUS, get_digest
from api.strict_route import audited
from api.web import rendering
from api.web.page_route import page_router

router = page_router(needs("search"))


@router.get("/digest")
@router.get("/digest.json")
@audited("read")
def get_digest_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    since: Annotated[str, Query(max_length=64)] = PREVIOUS,
) -> Response:
    """Show what was written since the shift before this one began."""
    body = rendering.body_of(get_digest(caller, ctx, since))
    spans = shift_times.quick_spans(ctx.searches.calendar)
    return rendering.show(request, "digest.html", body, spans=spans)
