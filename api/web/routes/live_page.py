"""What is written just now, for a screen on the wall."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.context import Caller, Ctx, needs
from api.entries.entry_amount import BRIEF
from api.entries.routes.entries import list_entries
from api.strict_route import audited
from api.web import rendering
from api.web.live_rows import LiveRows, Rows, follow
from api.web.newest_entries import load_newest
from api.web.page_route import page_router

router = page_router(needs("read"))

ROWS = 20


@router.get("/live")
@router.get("/live.json")
@audited("read")
def get_live_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    paused: Annotated[str | None, Query(pattern="^1$")] = None,
) -> Response:
    """Show the newest entries in large letters; it follows by itself until paused."""
    if rendering.is_twin(request):
        return list_entries(request, caller, ctx, BRIEF, limit=ROWS)
    body = load_newest(ctx, caller, ROWS)
    return rendering.show(request, "live.html", body, is_paused=bool(paused))


@router.get("/live/events")
@audited("read")
async def get_live_events(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    last_event_id: Annotated[str, Header(max_length=64)] = "",
) -> StreamingResponse:
    """Send the rows whenever there are others, and say that the line is alive."""
    state = request.app.state
    if not hasattr(state, "live_rows"):
        state.live_rows = LiveRows()
    kept: LiveRows = state.live_rows

    async def look() -> Rows:
        # Rights may be taken away while a screen on the wall is looked at.
        now = replace(caller, scope=await ctx.callers.find(request))
        now.scope.require("read")
        who = json.dumps(now.scope.params, sort_keys=True, default=str)

        def load() -> str:
            body = load_newest(ctx, now, ROWS)
            return rendering.render(request, "_live_rows.html", body=body)

        return await kept.read(who, load)

    times = rendering.times_of(request)
    events = follow(look, last_event_id, lambda: times.clock(datetime.now(UTC)))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
