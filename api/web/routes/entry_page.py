"""One entry, with the cited sentence marked, and a thread with its course of events."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from api.context import Caller, Ctx, needs
from api.entries.entry_amount import BRIEF, WHOLE
from api.entries.entry_bodies import MAX_REVISION
from api.entries.routes.permalink import get_permalink, parse_permalink
from api.entries.routes.threads import get_thread
from api.search.telemetry import PageAction
from api.strict_route import audited
from api.web import page_visit, rendering
from api.web.entry_view import load_page, make_thread_readable
from api.web.page_route import PageBesideData, page_router
from shared.entries.identity import permalink
from shared.entries.reading import read_entries
from shared.errors import NotFoundError
from shared.postgres.pool import connection

beside_data = page_router(needs("read"), route_class=PageBesideData)
router = page_router(needs("read"))


@beside_data.get("/e/{source}/{external_id:path}")
@audited("read")
async def get_entry_page(
    source: str,
    external_id: str,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    q: Annotated[str, Query(max_length=20_000)] = "",
    part: Annotated[str | None, Query(pattern="^pane$")] = None,
    more: Annotated[str | None, Query(pattern="^similar$")] = None,
) -> Response:
    """Show the newest revision, or the one that is named behind an `@`."""
    name, revision = parse_permalink(request, ctx.settings.base_path)
    may_search = caller.scope.is_admin or "search" in caller.scope.allowed
    try:
        entry = await asyncio.to_thread(
            load_page,
            *(ctx, caller, source, name, revision, q),
            with_similar=may_search and more == "similar",
        )
    except NotFoundError:
        if not rendering.is_twin(request):
            raise
        # No entry is called so: it is the twin of another's page.
        return await asyncio.to_thread(
            get_permalink, source, external_id, request, caller, ctx, WHOLE
        )
    if page_visit.comes_from_search(request, ctx):
        visit = page_visit.find_visit(request)
        ctx.telemetry.note(PageAction(caller.scope.tenant, "click", visit, q))
    template = "_entry_pane.html" if part else "entry.html"
    text = rendering.render(request, template, entry=entry, body=entry.body)
    return HTMLResponse(text, headers=rendering.HEADERS)


@router.get("/entries/{entry_id}")
@router.get("/entries/{entry_id}.json")
def get_entry_by_id(
    entry_id: UUID,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    revision: Annotated[int | None, Query(ge=1, le=MAX_REVISION)] = None,
) -> Response:
    """Lead to the address of an entry that a rebuild keeps."""
    with connection(ctx.pool) as conn:
        entry = read_entries.load_present_entry(conn, caller.scope, entry_id)
    pinned = "" if revision is None else f"@{revision}"
    twin = ".json" if rendering.is_twin(request) else ""
    path = permalink(entry.source, entry.external_id)
    return RedirectResponse(f"{ctx.settings.base_path}{path}{pinned}{twin}", 303)


@router.get("/threads/{thread_id}")
@router.get("/threads/{thread_id}.json")
@audited("read")
def get_thread_page(
    thread_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Show all of it that the caller may see."""
    body = rendering.body_of(get_thread(thread_id, caller, ctx, BRIEF))
    if not rendering.is_twin(request):
        body = make_thread_readable(ctx, caller.scope, body)
    return rendering.show(request, "thread.html", body)
