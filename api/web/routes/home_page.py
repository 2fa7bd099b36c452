"""The first page: the box, and under it the newest entries by shift."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.entries import shift_times
from api.entries.entry_amount import BRIEF
from api.entries.routes.entries import list_entries
from api.web import rendering
from api.web.chips import ChipCache
from api.web.newest_entries import load_newest
from api.web.page_route import page_router
from api.web.search_form import SearchForm
from shared.settings.settings import Settings

router = page_router(needs("read"))

NEWEST = 30


_CHIPS = "<!-- what is worth a click -->"


@router.get("/", name="home")
@router.get("/index.json")
async def get_home(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    q: Annotated[str, Query(max_length=20_000)] = "",
) -> Response:
    """Show what was written last, in the shifts that wrote it; a question is led on."""
    if q:
        place = "/search.json" if rendering.is_twin(request) else "/search"
        links = rendering.Links(ctx.settings.base_path)
        return RedirectResponse(links(place, q=q), 303)
    if rendering.is_twin(request):
        return await asyncio.to_thread(
            list_entries, request, caller, ctx, BRIEF, limit=NEWEST
        )
    newest = await asyncio.to_thread(load_newest, ctx, caller, NEWEST)
    text = rendering.render(
        request,
        "home.html",
        body=newest,
        groups=shift_times.group_by_shift(newest["items"], ctx.searches.calendar),
        form=SearchForm(),
        spans=shift_times.quick_spans(ctx.searches.calendar),
        chips_here=_CHIPS,
        forms=forms_of(ctx.settings, newest["items"]),
    )
    may_search = caller.scope.is_admin or "search" in caller.scope.allowed
    parts = _parts(request, text, newest["items"] if may_search else [], caller, ctx)
    return StreamingResponse(parts, media_type="text/html", headers=rendering.HEADERS)


def forms_of(
    settings: Settings, entries: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Return where entries of the sources that are shown are written, by source."""
    named = dict.fromkeys(one["source"] for one in entries)
    known = ((name, settings.sources.get(name)) for name in named)
    return {
        name: source.new_entry_url
        for name, source in known
        if source is not None and source.new_entry_url
    }


async def _parts(
    request: Request,
    text: str,
    entries: list[dict[str, Any]],
    caller: CallerInfo,
    ctx: ApiContext,
) -> AsyncIterator[str]:
    """Yield the page up to its chips; then these, as soon as they were tried."""
    head, _, tail = text.partition(_CHIPS)
    yield head
    state = request.app.state
    if not hasattr(state, "page_chips"):
        state.page_chips = ChipCache()
    kept: ChipCache = state.page_chips
    found = await kept.find_chips(ctx, caller, entries)
    yield rendering.render(request, "_chips.html", chips=found)
    yield tail
