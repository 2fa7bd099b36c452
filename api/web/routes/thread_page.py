"""A thread: what answers what, and the course of events that it tells."""

from __future__ import annotations

from uuid import UUID

from fastapi import Request, Response

from api.context import Caller, Ctx, needs
from api.entries.routes.threads import get_thread
from api.web import rendering
from api.web.page_route import page_router

router = page_router(needs("read"))


@router.get("/threads/{thread_id}")
@router.get("/threads/{thread_id}.json")
def get_thread_page(
    thread_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """Show all of it that the caller may see."""
    body = rendering.body_of(get_thread(thread_id, caller, ctx))
    return rendering.show(request, "thread.html", body)
