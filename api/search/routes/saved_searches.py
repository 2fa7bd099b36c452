"""Saved searches: one's own, and no other's; tried on history, and what they told."""

import time
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.search.schemas.saved_searches import (
    AlertPage,
    PreviewIn,
    PreviewOut,
    SavedSearchIn,
    SavedSearchOut,
    SavedSearchPage,
    alert_out,
    preview_out,
    saved_out,
)
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.strict_route import audited, described, strict_router
from shared.access.scope import Scope
from shared.errors import EmbeddingOutageError
from shared.log import get_logger
from shared.messaging.stage_names import ALERT_STAGE
from shared.postgres.pool import connection
from shared.watch import (
    alert_rows,
    channels,
    match_entries,
    preview_alerts,
    saved_searches,
    webhook,
)
from shared.watch.saved_plans import SavedPlanner, SavedPlans
from shared.watch.saved_searches import SavedSearch, SavedSearchDraft

log = get_logger()

# A worker makes the vector of a question; whoever tries it out waits so long for it.
_VECTOR_SECONDS, _POLL_SECONDS = 5.0, 0.1

router = strict_router("/v1/saved-searches", "search", needs("search"))


@router.get("")
@described("List your saved searches", SavedSearchPage)
def list_saved_searches(
    caller: Caller, ctx: Ctx, limit: PageSize = 50, cursor: str | None = None
) -> Response:
    """The newest first; nobody sees another's."""
    scope = caller.scope
    pages = ListPage(ctx, scope, "GET /v1/saved-searches", "", limit)
    after = pages.open_id(cursor)
    with connection(ctx.pool) as conn:
        found = saved_searches.list_own(conn, scope, limit=limit + 1, after=after)
    page, next_cursor = pages.close(found)
    items = [_out(ctx, one) for one in page]
    return as_json({"items": items, "next_cursor": next_cursor})


@router.post("")
@described("Save a search", SavedSearchOut, status_code=201)
def post_saved_search(body: SavedSearchIn, caller: Caller, ctx: Ctx) -> Response:
    """From now on entries that come are matched with it, if its alerts are on."""
    draft = _checked(body, caller.scope, ctx)
    with connection(ctx.pool) as conn:
        saved = saved_searches.create(conn, caller.scope, draft)
    ctx.nudger.again(ALERT_STAGE)
    log.info("saved_search_written", id=str(saved.id), alerts=saved.rule.enabled)
    where = f"{ctx.settings.base_path}/v1/saved-searches/{saved.id}"
    return as_json(_out(ctx, saved), 201, {"Location": where})


@router.get("/{saved_id}")
@described("Show a saved search", SavedSearchOut, 404)
def get_saved_search(saved_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Another's is as absent as none."""
    with connection(ctx.pool) as conn:
        saved = saved_searches.find(conn, caller.scope, saved_id)
    return as_json(_out(ctx, saved))


@router.put("/{saved_id}")
@described("Write a saved search anew", SavedSearchOut, 404)
def put_saved_search(
    saved_id: UUID, body: SavedSearchIn, caller: Caller, ctx: Ctx
) -> Response:
    """What is asked for anew is told of what is written from now on."""
    draft = _checked(body, caller.scope, ctx)
    with connection(ctx.pool) as conn:
        saved = saved_searches.replace(conn, caller.scope, saved_id, draft)
    ctx.nudger.again(ALERT_STAGE)
    log.info("saved_search_written", id=str(saved.id), alerts=saved.rule.enabled)
    return as_json(_out(ctx, saved))


@router.delete("/{saved_id}")
@described("Remove a saved search", None, 404, status_code=204)
def delete_saved_search(saved_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Its alerts go with it."""
    with connection(ctx.pool) as conn:
        saved_searches.remove(conn, caller.scope, saved_id)
    return Response(status_code=204)


@router.post("/{saved_id}/preview")
@described("Try a saved search on history", PreviewOut, 404, 504)
@audited("search")
def post_preview(
    saved_id: UUID,
    caller: Caller,
    ctx: Ctx,
    body: Annotated[PreviewIn, Body(default_factory=PreviewIn)],
) -> Response:
    """How many alerts there would have been of the last days; nothing is sent."""
    with connection(ctx.pool) as conn:
        saved = saved_searches.find(conn, caller.scope, saved_id)
    plans = _plan(ctx, caller.scope, saved)
    if plans.by_meaning is not None:
        saved = _with_vector(ctx, caller.scope, saved)
    found = preview_alerts.preview_alerts(
        ctx.searches.context,
        plans,
        saved.vector,
        days=body.days,
        by_thread=saved.rule.one_per_thread,
    )
    return as_json(preview_out(found))


@router.get("/{saved_id}/alerts")
@described("List the alerts of a saved search", AlertPage, 404)
def list_alerts(
    saved_id: UUID,
    caller: Caller,
    ctx: Ctx,
    limit: PageSize = 50,
    cursor: str | None = None,
) -> Response:
    """The newest first, of entries that you may see."""
    scope = caller.scope
    route = "GET /v1/saved-searches/alerts"
    pages = ListPage(ctx, scope, route, str(saved_id), limit)
    after = pages.open_id(cursor)
    with connection(ctx.pool) as conn:
        saved_searches.find(conn, scope, saved_id)
        found = alert_rows.page(conn, scope, saved_id, limit=limit + 1, after=after)
    page, next_cursor = pages.close(found)
    items = [alert_out(one) for one in page]
    return as_json({"items": items, "next_cursor": next_cursor})


def _checked(body: SavedSearchIn, scope: Scope, ctx: ApiContext) -> SavedSearchDraft:
    """Return the draft of a search that can be carried out, and told of."""
    draft = body.draft()
    if draft.alert.webhook_url is not None:
        channels.check_address(draft.alert.webhook_url, ctx.settings)
    _plan(ctx, scope, draft)
    return draft


def _plan(
    ctx: ApiContext, scope: Scope, wanted: SavedSearch | SavedSearchDraft
) -> SavedPlans:
    return SavedPlanner(ctx.settings, ctx.searches.context).plan(
        wanted.request,
        scope,
        semantic=wanted.semantic,
        threshold=wanted.similarity_threshold,
    )


def _with_vector(ctx: ApiContext, scope: Scope, saved: SavedSearch) -> SavedSearch:
    """Return the saved search once a worker has made the vector of its question."""
    models = match_entries.name_models(ctx.searches.context)
    if models is None or saved.vector_model == models:
        return saved
    ctx.nudger.again(ALERT_STAGE)
    ends = time.monotonic() + _VECTOR_SECONDS
    while saved.vector_model != models:
        if time.monotonic() >= ends:
            raise EmbeddingOutageError(technical="no worker has made its vector yet")
        time.sleep(_POLL_SECONDS)
        with connection(ctx.pool) as conn:
            saved = saved_searches.find(conn, scope, saved.id)
    return saved


def _out(ctx: ApiContext, saved: SavedSearch) -> dict[str, Any]:
    return saved_out(saved, webhook.make_signing_secret(ctx.secret(), saved.id))
