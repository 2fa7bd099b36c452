"""Runs of sources: what each found, and how it ended."""

import json
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from api.context import Caller, Ctx
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.sources.schemas.sources import RunOut, RunPage, RunState, run_out
from api.strict_route import described, strict_router
from shared.errors import NotFoundError
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from shared.sources.runs import run_queue

router = strict_router("/v1/runs", "sources")


@router.get("")
@described("List runs", RunPage, scope="read")
def list_runs(
    caller: Caller,
    ctx: Ctx,
    source: Annotated[str | None, Query(max_length=255)] = None,
    state: RunState | None = None,
    limit: PageSize = 20,
    cursor: str | None = None,
) -> Response:
    """The newest first, also those that still run."""
    scope = caller.scope
    pages = ListPage(ctx, scope, "GET /v1/runs", json.dumps([source, state]), limit)
    after = pages.open_id(cursor)
    with connection(ctx.pool) as conn:
        found = run_records.list_runs(
            conn, scope.tenant, limit=limit + 1, source=source, state=state, after=after
        )
        queued = run_queue.load_run_queue(conn, found)
    page, next_cursor = pages.close(found)
    admin = scope.is_admin
    items = [run_out(one, admin=admin, waiting=queued.get(one.id)) for one in page]
    return as_json({"items": items, "next_cursor": next_cursor})


@router.get("/{run_id}")
@described("Look at one run", RunOut, 404, scope="read")
def get_run(run_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Its counts, its window, what it waits for, and why it failed, if it did."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        found = run_records.find_run(conn, scope.tenant, run_id)
        if found is None:
            raise NotFoundError
        queued = run_queue.load_run_queue(conn, [found]).get(found.id)
    return as_json(run_out(found, admin=scope.is_admin, waiting=queued))


@router.delete("/{run_id}")
@described("Cancel one run", RunOut, 404, scope="admin")
def cancel_run(run_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """At once; what it has stored stays, and one that has ended stays as it is."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        found = admin_actions.cancel(
            conn,
            scope.tenant,
            run_id,
            facility_timezone=ctx.settings.facility_timezone,
            subject=scope.subject,
        )
    return as_json(run_out(found, admin=scope.is_admin))
