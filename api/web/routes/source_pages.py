"""Sources: how far each is, its runs, and what an admin does to it."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse

from api.context import Caller, Ctx, needs
from api.operations.routes.status import INDEXING_STAGES
from api.sources.routes import runs, sources
from api.sources.schemas.sources import TriggerIn
from api.web import rendering
from api.web.page_route import page_router, read_form
from shared.errors import InvalidRequestError
from shared.postgres.pool import connection
from shared.times.rfc3339 import timestamp
from shared.work import lag

router = page_router(needs("read"))

ACTIONS: dict[str, Callable[..., Any]] = {
    "trigger": lambda name, who, ctx: sources.trigger_source(
        name, TriggerIn(), who, ctx
    ),
    "pause": sources.pause_source,
    "resume": sources.resume_source,
}


@router.get("/sources")
@router.get("/sources.json")
def get_sources_page(request: Request, caller: Caller, ctx: Ctx) -> Response:
    """List the sources of the facility, each with how fresh it is."""
    body = rendering.body_of(sources.list_sources(caller, ctx))
    return rendering.show(request, "sources.html", body)


@router.get("/sources/{source}")
@router.get("/sources/{source}.json")
def get_source_page(
    source: str, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Show one source and its last runs."""
    body = rendering.body_of(sources.get_source(source, caller, ctx))
    listed = rendering.body_of(runs.list_runs(caller, ctx, source=source, limit=10))
    with connection(ctx.pool) as conn:
        searched_to = lag.find_watermark(conn, INDEXING_STAGES)
    body = {**body, "runs": listed["items"], "watermark": timestamp(searched_to)}
    return rendering.show(request, "source.html", body)


@router.post("/sources/{source}", dependencies=[Depends(needs("admin"))])
async def post_source_form(
    source: str, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Run, pause or resume a source, and show it again."""
    form = await read_form(request)
    act = ACTIONS.get(str(form.get("action", "")))
    if act is None:
        message = f"action: one of {', '.join(ACTIONS)}."
        raise InvalidRequestError.field("action", "value", message)
    caller.audited["request"] = f"POST /sources/{{source}} {form['action']}"
    await asyncio.to_thread(act, source, caller, ctx)
    return RedirectResponse(ctx.settings.base_path + rendering.place_of(request), 303)
