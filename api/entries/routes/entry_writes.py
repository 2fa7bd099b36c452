"""Entries written by their address, as their source would write them."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Header, Request, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.entries import entry_edit, until_indexed
from api.entries.pushes import Verdict
from api.entries.routes.permalink import parse_permalink
from api.entries.schemas.entries import EntryIn, EntryPatch
from api.entries.schemas.pushed import IS_NEW, PushedEntry
from api.server.json_response import as_json
from api.server.parameters import WaitFor, WaitMs
from api.strict_route import StrictRoute, described, strict_router
from shared.errors import InvalidRequestError

_MERGE = "application/merge-patch+json"


class WriteRoute(StrictRoute):
    """Where one entry is written; a merge may come under its own media type."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """Return the media types that a body may have."""
        merges = "PATCH" in (self.methods or ())
        return (_MERGE, "application/json") if merges else ("application/json",)


router = strict_router("", "entries", needs("ingest"), route_class=WriteRoute)

IfMatch = Annotated[
    str | None, Header(description='Write only if this is its ETag, such as `"r3"`.')
]


@router.put("/v1/entries/{entry_id}")
@described("Replace one entry", PushedEntry, 404, 409, 410, 412)
async def put_entry(
    entry_id: UUID,
    body: EntryIn,
    caller: Caller,
    ctx: Ctx,
    if_match: IfMatch = None,
    wait_for: WaitFor = None,
    wait_ms: WaitMs = 5000,
) -> Response:
    """What is not sent is empty afterwards; what changes nothing writes nothing.

    A parent that the caller was not told of stays.
    """
    write = partial(entry_edit.replace, ctx, caller, entry_id, body, if_match)
    return await _written(ctx, write, wait_ms if wait_for else None)


@router.patch("/v1/entries/{entry_id}")
@described(
    "Change fields of one entry",
    PushedEntry,
    *(404, 409, 410, 412),
    openapi_extra={
        "requestBody": {
            "content": {_MERGE: {"schema": {"$ref": "#/components/schemas/EntryPatch"}}}
        }
    },
)
async def patch_entry(
    entry_id: UUID,
    body: EntryPatch,
    caller: Caller,
    ctx: Ctx,
    if_match: IfMatch = None,
    wait_for: WaitFor = None,
    wait_ms: WaitMs = 5000,
) -> Response:
    """Merge by RFC 7396: what is not named stays, null takes away."""
    write = partial(entry_edit.merge, ctx, caller, entry_id, body.root, if_match)
    return await _written(ctx, write, wait_ms if wait_for else None)


@router.put("/e/{source}/{external_id:path}")
@described(
    "Write one entry by its permalink", PushedEntry, *(404, 409, 410, 412), also=IS_NEW
)
async def put_permalink(
    source: str,
    external_id: str,
    body: EntryIn,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    if_match: IfMatch = None,
    wait_for: WaitFor = None,
    wait_ms: WaitMs = 5000,
) -> Response:
    """Made if it is absent, restored if it was deleted; else as by its key."""
    del external_id
    name, revision = parse_permalink(request, ctx.settings.base_path)
    if revision is not None:
        message = "A revision is not written to; an @ of the id itself is sent as %40."
        raise InvalidRequestError.field("external_id", "revision_named", message)
    write = partial(entry_edit.put, ctx, caller, (source, name), body, if_match)
    return await _written(ctx, write, wait_ms if wait_for else None)


async def _written(
    ctx: ApiContext, write: Callable[[], Verdict], wait_ms: int | None
) -> Response:
    ctx.backlog.check()
    verdict = await asyncio.to_thread(write)
    answer = dict(verdict.body)
    if wait_ms is not None:
        answer["indexed"] = await until_indexed.wait(ctx, verdict.entry_ids, wait_ms)
    return as_json(answer, verdict.status, {"ETag": f'"r{answer["revision"]}"'})
