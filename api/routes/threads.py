"""Threads: an entry, what it answers and what answers it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import APIRouter, Depends, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.door_route import DoorRoute
from api.entry_bodies import bodies
from api.errors import documented
from api.schemas.threads import ThreadOut
from shared.access.scope import Scope
from shared.entries import reading
from shared.entries.reading import Entry
from shared.entries.trees import tree
from shared.errors import NotFoundError
from shared.postgres import connection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

router = APIRouter(prefix="/v1", tags=["entries"], route_class=DoorRoute)

MAX_ENTRIES = 1000


@router.get(
    "/entries/{entry_id}/thread",
    summary="Read the thread of an entry",
    response_model=ThreadOut,
    responses=documented(404, 410),
    dependencies=[Depends(needs("read"))],
)
def get_thread_of(entry_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Its members that the caller may see, oldest first; an entry alone is one."""
    with connection(ctx.pool) as conn:
        entry = reading.present(reading.current(conn, caller.scope, entry_id))
        found = [entry]
        if entry.thread_id is not None:
            found = _members(conn, caller.scope, entry.thread_id)
        return _answer(ctx, conn, caller.scope, entry.thread_id, found)


@router.get(
    "/threads/{thread_id}",
    summary="Read a thread",
    response_model=ThreadOut,
    responses=documented(404),
    dependencies=[Depends(needs("read"))],
)
def get_thread(thread_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Its members that the caller may see, oldest first."""
    with connection(ctx.pool) as conn:
        found = _members(conn, caller.scope, thread_id)
        if not found:
            raise NotFoundError
        return _answer(ctx, conn, caller.scope, thread_id, found)


def _members(conn: Connection[TupleRow], scope: Scope, thread_id: UUID) -> list[Entry]:
    return reading.of_thread(conn, scope, thread_id, limit=MAX_ENTRIES + 1)


def _answer(
    ctx: ApiContext,
    conn: Connection[TupleRow],
    scope: Scope,
    thread_id: UUID | None,
    found: list[Entry],
) -> Response:
    entries = found[:MAX_ENTRIES]
    body = {
        "thread_id": str(thread_id) if thread_id else None,
        "title": next((one.title for one in entries if one.title), ""),
        "entries": bodies(ctx, conn, scope, entries),
        "tree": [node._asdict() for node in tree(entries)],
        "complete": len(found) <= MAX_ENTRIES,
    }
    return Response(json.dumps(body, default=str), media_type="application/json")
