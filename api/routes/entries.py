"""Entries: pushed, listed, read and deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import ValidationError

from api import metrics
from api.context import ApiContext, Caller, CallerInfo, Ctx, needs
from api.door_route import DoorRoute
from api.errors import documented, invalid
from api.schemas.entries import (
    EntriesIn,
    EntryIn,
    EntryOut,
    EntryPage,
    PushBody,
    PushedEntries,
    PushedEntry,
    entry_out,
    source_uri,
)
from shared.access import idempotency
from shared.access.cursors import Binding
from shared.due import rows as due
from shared.entries import reading
from shared.entries.admit import Rules
from shared.entries.draft import EntryDraft
from shared.entries.entry import Saved, save_page, tombstone
from shared.errors import (
    GoneError,
    InvalidRequestError,
    LogchordError,
    NotFoundError,
)
from shared.postgres import connection

router = APIRouter(prefix="/v1/entries", tags=["entries"], route_class=DoorRoute)

_INDEX_POLL_SECONDS = 0.05
_UNIQUE_KEY = Header(description="The same key again gets the same answer.")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a push is answered with, kept so that a repeat gets the same."""

    status: int
    body: dict[str, Any]

    @property
    def entry_ids(self) -> list[UUID]:
        """Return the entries that were taken in."""
        items = self.body.get("items", [self.body])
        return [UUID(one["entry_id"]) for one in items if one.get("entry_id")]


@router.post(
    "",
    summary="Push one entry, or many",
    response_model=PushedEntry | PushedEntries,
    status_code=200,
    responses={
        201: {"model": PushedEntry, "description": "The entry is new."},
        **documented(409),
    },
    dependencies=[Depends(needs("ingest"))],
)
async def post_entries(
    body: PushBody,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: Annotated[str | None, _UNIQUE_KEY] = None,
    wait_for: Annotated[
        Literal["index"] | None, Query(description="Answer once it can be found.")
    ] = None,
    wait_ms: Annotated[int, Query(ge=0, le=30_000)] = 5000,
) -> Response:
    """Answer 201 or 200 once entry and due work are committed in Postgres."""
    ctx.backlog.check()
    asked = None
    if idempotency_key is not None:
        whole = await request.body()
        who = caller.scope.key_id or caller.scope.subject
        asked = idempotency.request(
            caller.scope.tenant, who, "POST /v1/entries", idempotency_key, whole
        )
    verdict, replayed = await asyncio.to_thread(_push, ctx, caller, body, asked)
    answer = dict(verdict.body)
    if wait_for is not None:
        answer["indexed"] = await _wait_for_index(ctx, verdict.entry_ids, wait_ms)
    headers = {"Idempotency-Replayed": "true"} if replayed else None
    return Response(
        json.dumps(answer),
        status_code=verdict.status,
        media_type="application/json",
        headers=headers,
    )


@router.get(
    "",
    summary="List entries",
    response_model=EntryPage,
    responses=documented(),
    dependencies=[Depends(needs("read"))],
)
def list_entries(
    caller: Caller,
    ctx: Ctx,
    source: Annotated[list[str] | None, Query(max_length=100)] = None,
    logbook: Annotated[list[str] | None, Query(max_length=100)] = None,
    external_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    sort: Literal["newest", "oldest", "received"] = "newest",
    include_deleted: bool = False,  # noqa: FBT001, FBT002 - a query parameter
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    cursor: Annotated[str | None, Query(max_length=512)] = None,
) -> Response:
    """Newest first by entry time; `total` counts what the filters leave."""
    wanted = reading.ListingFilter(
        sources=source,
        logbooks=logbook,
        external_id=external_id,
        include_deleted=include_deleted,
        sort=sort,
    )
    scope = caller.scope
    query = json.dumps([wanted.params, sort, scope.params], sort_keys=True)
    who = scope.key_id or scope.subject
    binding = Binding("GET /v1/entries", query, who, limit)
    after = None
    if cursor is not None:
        time, entry_id = ctx.signer().open(cursor, binding)
        after = reading.Place(datetime.fromisoformat(time), UUID(entry_id))
    with connection(ctx.pool) as conn:
        found = reading.listing(conn, scope, wanted, limit=limit + 1, after=after)
        count = reading.total(conn, scope, wanted)
    page, more = found[:limit], len(found) > limit
    next_cursor = None
    if more:
        last = page[-1]
        time = last.received_at if sort == "received" else last.entry_time
        place = [time.isoformat(), str(last.entry_id)]
        next_cursor = ctx.signer().make(place, binding)
    items = [_out(ctx, entry) for entry in page]
    return _json({"items": items, "next_cursor": next_cursor, "total": count})


@router.get(
    "/{entry_id}",
    summary="Read one entry",
    response_model=EntryOut,
    responses={
        304: {"description": "Not changed since the revision named."},
        **documented(404, 410),
    },
    dependencies=[Depends(needs("read"))],
)
def get_entry(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The newest revision, text exactly as received."""
    with connection(ctx.pool) as conn:
        entry = reading.current(conn, caller.scope, entry_id)
    if entry is None:
        raise NotFoundError
    if entry.deleted_at is not None:
        raise GoneError
    tag = f'"r{entry.revision}"'
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers={"ETag": tag})
    return _json(_out(ctx, entry), {"ETag": tag})


@router.delete(
    "/{entry_id}",
    summary="Delete one entry",
    status_code=204,
    response_class=Response,
    responses=documented(404, 412),
    dependencies=[Depends(needs("ingest"))],
)
def delete_entry(
    entry_id: UUID,
    caller: Caller,
    ctx: Ctx,
    reason: Annotated[str | None, Query(max_length=1000)] = None,
    if_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Leave a tombstone: gone from every answer at once; a repeat is 204 too."""
    stages = [due_stage for due_stage in ctx.stages if due_stage != "metadata"]
    with connection(ctx.pool) as conn:
        entry = reading.current(conn, caller.scope, entry_id)
        if entry is None:
            raise NotFoundError
        if if_match is not None and f'"r{entry.revision}"' not in if_match:
            message = f"The entry is at revision {entry.revision} by now."
            raise InvalidRequestError(message, code="revision_mismatch")
        tombstone(conn, caller.scope.tenant, entry_id, reason=reason, stages=stages)
    for stage in stages:
        ctx.nudger.nudge(stage, [entry_id])
    return Response(status_code=204)


def _push(
    ctx: ApiContext,
    caller: CallerInfo,
    body: EntryIn | EntriesIn,
    asked: idempotency.Request | None,
) -> tuple[Verdict, bool]:
    """Store what was sent in one commit, then nudge; a repeat is answered as before."""
    with connection(ctx.pool) as conn:
        if asked is not None:
            kept = idempotency.begin(conn, asked)
            if kept is not None:
                return Verdict(kept["status"], kept["body"]), True
        if isinstance(body, EntryIn):
            drafts, rejected = [Rules(ctx.settings).draft(body.model_dump(), "")], {}
        else:
            drafts, rejected = _admitted(ctx, body)
        saved = save_page(
            conn,
            caller.scope.tenant,
            drafts,
            stages=_first_stages(ctx),
            editor=caller.scope.subject,
        )
        tenant = caller.scope.tenant
        if isinstance(body, EntryIn):
            verdict = Verdict(
                201 if saved[0].status == "created" else 200, _item(tenant, saved[0])
            )
        else:
            verdict = _of_many(tenant, len(body.entries), saved, rejected)
        if asked is not None:
            kept = {"status": verdict.status, "body": verdict.body}
            idempotency.end(conn, asked, kept)
    _after_commit(ctx, saved)
    return verdict, False


def _admitted(
    ctx: ApiContext, body: EntriesIn
) -> tuple[list[EntryDraft], dict[int, LogchordError]]:
    most = ctx.settings.max_batch_entries
    if len(body.entries) > most:
        message = f"entries: one request may hold {most}."
        raise InvalidRequestError.field("entries", "too_many", message)
    rules = Rules(ctx.settings)
    drafts: list[EntryDraft] = []
    rejected: dict[int, LogchordError] = {}
    for index, raw in enumerate(body.entries):
        path = f"entries.{index}"
        try:
            drafts.append(rules.draft(EntryIn.model_validate(raw).model_dump(), path))
        except ValidationError as exc:
            located = [
                {**one, "loc": ("body", "entries", index, *one["loc"])}
                for one in exc.errors()
            ]
            rejected[index] = invalid(located)
        except LogchordError as exc:
            rejected[index] = exc
    if rejected and body.atomic:
        raise next(iter(rejected.values()))
    return drafts, rejected


def _of_many(
    tenant: str,
    count: int,
    saved: Sequence[Saved],
    rejected: dict[int, LogchordError],
) -> Verdict:
    waiting = iter(saved)
    items: list[dict[str, Any]] = []
    for index in range(count):
        if index in rejected:
            error = rejected[index].body()["error"]
            items.append({"index": index, "status": "rejected", "error": error})
        else:
            items.append({"index": index, **_item(tenant, next(waiting))})
    counts = dict.fromkeys(("created", "updated", "unchanged", "rejected"), 0)
    for one in items:
        counts[one["status"]] += 1
    return Verdict(200, {"items": items, "counts": counts})


def _item(tenant: str, saved: Saved) -> dict[str, Any]:
    return {
        "entry_id": str(saved.entry_id),
        "source_uri": source_uri(tenant, saved.source, saved.external_id),
        "revision": saved.revision,
        "status": saved.status,
    }


def _first_stages(ctx: ApiContext) -> list[str]:
    """Return what is due at once; the document follows when metadata has ended."""
    return [stage for stage in ctx.stages if stage != "index"]


def _after_commit(ctx: ApiContext, saved: Sequence[Saved]) -> None:
    changed = [one for one in saved if one.status != "unchanged"]
    ids = list(dict.fromkeys(one.entry_id for one in changed))
    if ids:
        for stage in _first_stages(ctx):
            ctx.nudger.nudge(stage, ids)
    for one in saved:
        metrics.ingested(one.source, one.status, 1)


async def _wait_for_index(ctx: ApiContext, ids: list[UUID], wait_ms: int) -> bool:
    deadline = asyncio.get_running_loop().time() + wait_ms / 1000
    while await asyncio.to_thread(_still_due, ctx, ids):
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(_INDEX_POLL_SECONDS)
    return True


def _still_due(ctx: ApiContext, ids: list[UUID]) -> bool:
    with connection(ctx.pool) as conn:
        return due.any_due(conn, ids, list(ctx.stages))


def _out(ctx: ApiContext, entry: reading.Entry) -> Any:
    source = ctx.settings.sources.get(entry.source)
    template = source.entry_url_template if source else None
    return entry_out(entry, ctx.stages, template)


def _json(body: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body), media_type="application/json", headers=headers)
