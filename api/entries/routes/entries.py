"""Entries: pushed, listed, read and deleted."""

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Header, Query, Request, Response

from api.context import Caller, Ctx, caller, context
from api.entries import listing, push_stream, pushes, until_indexed
from api.entries.entry_amount import ListAmount, WholeAmount, count_fitting
from api.entries.entry_bodies import MAX_REVISION, NOT_CHANGED, answer, bodies, names
from api.entries.schemas.entries import (
    EntryOut,
    EntryPage,
    PushBody,
    RevisionPage,
    revision_out,
)
from api.entries.schemas.pushed import IS_NEW, PushedEntries, PushedEntry
from api.server.json_response import as_json
from api.server.list_page import ListPage, check_page_size
from api.server.parameters import IdempotencyKey, PageSize, WaitFor, WaitMs
from api.strict_route import (
    DoorRequest,
    Handler,
    StrictRoute,
    audited,
    check_media_type,
    described,
    strict_router,
)
from shared.access import idempotency
from shared.entries.reading import read_entries, revisions
from shared.entries.saving import write_rights
from shared.entries.saving.save import tombstone
from shared.errors import InvalidRequestError, NotFoundError
from shared.postgres.pool import connection
from shared.sources.source_state import refuse_polled
from shared.stages import entry_stages
from shared.text import door


class PushRequest(DoorRequest):
    """Entries are admitted one by one, so that a bad one refuses only itself."""

    @staticmethod
    def parse(body: bytes) -> Any:
        """Return the document; the texts of its entries are still to be admitted."""
        value = door.parse_json(body, max_values=door.MAX_JSON_VALUES)
        if isinstance(value, dict) and isinstance(value.get("entries"), list):
            door.check_tree({key: value[key] for key in value if key != "entries"})
        else:
            door.check_tree(value)
        return value


class PushRoute(StrictRoute):
    """Where entries come in."""

    request_class = PushRequest

    def takes(self, name: str) -> bool:
        """Whether a parameter is a filter, where entries are listed."""
        is_listing = self.path_format.endswith("/v1/entries")
        return is_listing and "GET" in (self.methods or ()) and listing.is_filter(name)

    def get_route_handler(self) -> Handler:
        """Return the handler of a document, beside that of lines of any number."""
        handle = super().get_route_handler()
        if self.path_format != "/v1/entries" or "POST" not in (self.methods or ()):
            return handle

        async def either(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0]
            if kind.strip().lower() != push_stream.MEDIA_TYPE:
                return await handle(request)
            check_media_type(request, push_stream.MEDIA_TYPE)
            if request.query_params:
                message = "A push by lines takes no parameters."
                raise InvalidRequestError(message, code="unknown_filter")
            ctx = await context(request)
            who = await caller(request, ctx)
            who.scope.require("ingest")
            return push_stream.answer(request, ctx, who)

        return either


router = strict_router("/v1/entries", "entries", route_class=PushRoute)


@router.post("")
@described(
    "Push one entry, or many",
    PushedEntry | PushedEntries,
    *(409, 410),
    scope="ingest",
    also={200: {"content": {push_stream.MEDIA_TYPE: push_stream.ANSWER}}, **IS_NEW},
    openapi_extra={
        "requestBody": {"content": {push_stream.MEDIA_TYPE: push_stream.BODY}}
    },
)
async def post_entries(
    body: PushBody,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: IdempotencyKey = None,
    wait_for: WaitFor = None,
    wait_ms: WaitMs = 5000,
) -> Response:
    """Answer 201 or 200 once entry and due work are committed in Postgres."""
    ctx.backlog.check()
    whole = await request.body() if idempotency_key is not None else b""
    asked = idempotency.request(
        caller.scope, "POST /v1/entries", idempotency_key, whole
    )
    verdict, replayed = await asyncio.to_thread(pushes.push, ctx, caller, body, asked)
    answer = dict(verdict.body)
    if wait_for is not None and verdict.entry_ids:
        answer["indexed"] = await until_indexed.wait(ctx, verdict.entry_ids, wait_ms)
    headers = {"Idempotency-Replayed": "true"} if replayed else None
    return as_json(answer, verdict.status, headers)


@router.get("")
@described(
    "List entries",
    EntryPage,
    scope="read",
    openapi_extra={"parameters": listing.PARAMETERS},
)
@audited("read")
def list_entries(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    amount: ListAmount,
    source: Annotated[list[str] | None, Query(max_length=100)] = None,
    logbook: Annotated[list[str] | None, Query(max_length=100)] = None,
    external_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    sort: Literal["newest", "oldest", "received"] = "newest",
    include_deleted: bool = False,  # noqa: FBT001, FBT002 - a query parameter
    limit: PageSize | None = None,
    cursor: str | None = None,
) -> Response:
    """Newest first by entry time; `total` counts what the filters leave."""
    narrowed = listing.filters_of(
        request.query_params, ctx.settings.max_filter_values, ctx.searches.calendar
    )
    wanted = read_entries.ListingFilter(
        narrowed=narrowed,
        sources=source,
        logbooks=logbook,
        external_id=external_id,
        include_deleted=include_deleted,
        sort=sort,
    )
    limit = check_page_size(ctx, limit)
    scope = caller.scope
    query = json.dumps([wanted.params, sort, scope.params], sort_keys=True)
    pages = ListPage(ctx, scope, "GET /v1/entries", query, limit)
    after = None
    if place := pages.open(cursor):
        time, entry_id = place
        after = read_entries.ListingPosition(
            datetime.fromisoformat(time), UUID(entry_id)
        )
    with connection(ctx.pool) as conn:
        found = read_entries.list_entries(
            conn, scope, wanted, limit=limit + 1, after=after
        )
        count = read_entries.count_entries(conn, scope, wanted)
        most = limit
        if amount.detail == "full":
            most = min(limit, count_fitting([one.text_chars for one in found]))
        page, more = found[:most], len(found) > most
        if amount.detail == "full":
            ids = [one.entry_id for one in page]
            whole = read_entries.load_entries(conn, scope, ids, whole=True)
            page = [whole.get(one.entry_id, one) for one in page]
        page, cut = amount.cut(page)
        items = bodies(ctx, conn, scope, page)
    next_cursor = None
    if more:
        last = page[-1]
        time = last.received_at if sort == "received" else last.entry_time
        place = [time.isoformat(), str(last.entry_id)]
        next_cursor = ctx.signer().make(place, pages.binding)
    body = {
        "items": amount.select(items),
        "cut": cut,
        "next_cursor": next_cursor,
        "total": count,
    }
    return as_json(body)


@router.get("/{entry_id}")
@described("Read one entry", EntryOut, 404, 410, scope="read", also=NOT_CHANGED)
@audited("read")
def get_entry(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    amount: WholeAmount,
    revision: Annotated[int | None, Query(ge=1, le=MAX_REVISION)] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The newest revision, or the one that is named, text exactly as received."""
    with connection(ctx.pool) as conn:
        entry = read_entries.load_entry(conn, caller.scope, entry_id)
        return answer(ctx, conn, caller.scope, entry, revision, if_none_match, amount)


@router.get("/{entry_id}/revisions")
@described("List the revisions of one entry", RevisionPage, 404, 410, scope="read")
@audited("read")
def list_revisions(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    limit: PageSize | None = None,
    cursor: str | None = None,
) -> Response:
    """Newest first, each with what it changed in title and text."""
    limit = ctx.settings.default_limit if limit is None else limit
    route = "GET /v1/entries/revisions"
    pages = ListPage(ctx, caller.scope, route, str(entry_id), limit)
    (newest,) = pages.open(cursor) or (MAX_REVISION,)
    with connection(ctx.pool) as conn:
        read_entries.load_present_entry(conn, caller.scope, entry_id)
        found = revisions.until(
            conn, caller.scope.tenant, entry_id, newest, limit=limit + 1
        )
    older: list[revisions.Revision | None] = [*found[1:], None]
    items = [revision_out(*pair) for pair in zip(found, older, strict=True)][:limit]
    next_cursor = None
    if len(found) > limit:
        next_cursor = ctx.signer().make([found[limit].number], pages.binding)
    return as_json({"items": items, "next_cursor": next_cursor})


@router.delete("/{entry_id}")
@described("Delete one entry", None, 404, 409, 412, scope="ingest", status_code=204)
@audited("administer")
def delete_entry(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    reason: Annotated[str | None, Query(max_length=1000)] = None,
    if_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Leave a tombstone: gone from every answer at once; a repeat is 204 too."""
    gone = entry_stages.list_deletion_stages(ctx.settings)
    with connection(ctx.pool) as conn:
        found = read_entries.load_entry(conn, caller.scope, entry_id)
        if found is None:
            raise NotFoundError
        refuse_polled(conn, ctx.settings.sources, found.source)
        # An edit on its way changes the revision, and perhaps who may delete it.
        write_rights.hold(conn, caller.scope, entry_id)
        entry = read_entries.load_entry(conn, caller.scope, entry_id)
        if entry is None:
            raise NotFoundError
        if if_match is not None and not names(if_match, entry.revision):
            message = f"The entry is at revision {entry.revision} by now."
            raise InvalidRequestError(message, code="revision_mismatch")
        tombstone(conn, caller.scope.tenant, entry_id, reason=reason, stages=gone)
    for stage in gone:
        ctx.nudger.nudge(stage, [entry_id])
    return Response(status_code=204)
