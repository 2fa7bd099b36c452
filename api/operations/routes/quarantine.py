"""Quarantined work looked at, made due again, or given up on."""

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Query, Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs_whole_facility
from api.operations import quarantine_release
from api.operations.quarantine_release import ReleaseProgress
from api.operations.schemas.quarantine import (
    Filter,
    QuarantinedOut,
    QuarantinePage,
    ReleasedOut,
    RetryIn,
    quarantined_out,
    released_out,
)
from api.server.json_response import as_json
from api.server.list_page import ListPage, check_page_size
from api.server.parameters import IdempotencyKey, PageSize
from api.strict_route import described, strict_router
from shared.access import idempotency
from shared.access.cursors import Binding
from shared.errors import InvalidRequestError, NotFoundError
from shared.log import get_logger
from shared.postgres.pool import Connection, connection
from shared.sources.intake import quarantined_items
from shared.work import lag, quarantine
from shared.work.quarantine import Quarantined, Released, Which

log = get_logger()

router = strict_router("/v1/quarantine", "operations", needs_whole_facility)


@router.get("")
@described("List what was quarantined", QuarantinePage)
def list_quarantine(
    caller: Caller,
    ctx: Ctx,
    source: Annotated[Filter | None, Query()] = None,
    stage: Annotated[Filter | None, Query()] = None,
    code: Annotated[Filter | None, Query()] = None,
    limit: PageSize | None = None,
    cursor: str | None = None,
) -> Response:
    """Newest first, of your facility; with a key of `*` everybody's, and messages."""
    limit = check_page_size(ctx, limit)
    query = json.dumps([caller.scope.watched, source, stage, code])
    pages = ListPage(ctx, caller.scope, "GET /v1/quarantine", query, limit)
    after = pages.open_id(cursor)
    with connection(ctx.pool) as conn:
        whose = lag.reach(conn, caller.scope.watched)
        which = Which(whose, source=source, stage=stage, code=code)
        found = quarantine.list_quarantined(conn, which, limit=limit + 1, after=after)
    page, next_cursor = pages.close(found)
    body = {"items": [quarantined_out(one) for one in page], "next_cursor": next_cursor}
    return as_json(body)


@router.get("/{quarantine_id:uuid}")
@described("Read why one was quarantined", QuarantinedOut, 404)
def get_quarantine(quarantine_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """With the whole error, its technical part included."""
    with connection(ctx.pool) as conn:
        _, found = _find(conn, caller, quarantine_id)
        return as_json(quarantined_out(found))


@router.post("/retry")
@described("Make many due again", ReleasedOut, 409, status_code=202)
def retry_many(
    body: Annotated[RetryIn, Body(default_factory=RetryIn)],
    caller: Caller,
    ctx: Ctx,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """As bulk work, in short commits; a stage that its budget paused goes on.

    All that the filter names, unless `limit` says less. What there was no time for is
    behind `next_cursor`.
    """
    which = Which(
        caller.scope.tenant, source=body.source, stage=body.stage, code=body.code
    )
    query = json.dumps([caller.scope.watched, body.source, body.stage, body.code])
    binding = Binding("POST /v1/quarantine/retry", query, caller.scope.caller, 0)
    place = ReleaseProgress.begin(which)
    if body.cursor is not None:
        place = ReleaseProgress.of(ctx.signer().open(body.cursor, binding))
    route, asked = "POST /v1/quarantine/retry", body.model_dump_json().encode()
    once = idempotency.request(caller.scope, route, idempotency_key, asked)
    with connection(ctx.pool) as conn:
        kept = idempotency.kept(conn, once) if once is not None else None
    if kept is not None:
        return _replayed(kept)
    done = quarantine_release.release(ctx, caller, which, place, body.limit)
    rest = None if done.rest is None else ctx.signer().make(done.rest.kept(), binding)
    answer = released_out(done.released, rest)
    # Twice at once both release, each what it finds: one answer is the one kept.
    if once is not None:
        with connection(ctx.pool) as conn:
            kept = idempotency.begin(conn, once)
            if kept is not None:
                return _replayed(kept)
            idempotency.end(conn, once, answer)
    return _told(ctx, caller, done.released, answer)


@router.post("/{quarantine_id:uuid}/retry")
@described("Make one due again", ReleasedOut, 404, 409, status_code=202)
def retry_one(
    quarantine_id: UUID,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """As live work, with its attempts to begin with."""
    route = "POST /v1/quarantine/{quarantine_id}/retry"
    body = str(quarantine_id).encode()
    once = idempotency.request(caller.scope, route, idempotency_key, body)
    with connection(ctx.pool) as conn:
        kept = idempotency.begin(conn, once) if once is not None else None
        if kept is not None:
            return _replayed(kept)
        released = _release_one(ctx, conn, caller, quarantine_id)
        answer = released_out(released)
        if once is not None:
            # In one commit with the key that names the request.
            idempotency.end(conn, once, answer)
    return _told(ctx, caller, released, answer)


@router.delete("/{quarantine_id:uuid}")
@described("Give up on one", None, 404, status_code=204)
def discard(
    quarantine_id: UUID,
    caller: Caller,
    ctx: Ctx,
    reason: Annotated[str, Query(min_length=1, max_length=1000)],
) -> Response:
    """The entry stays, without what the stage makes; the log keeps the reason."""
    with connection(ctx.pool) as conn:
        which, gone = _find(conn, caller, quarantine_id)
        quarantine.discard(conn, which)
    log.warning(
        "quarantine_discarded",
        quarantine_id=str(gone.id),
        entry_id=None if gone.entry_id is None else str(gone.entry_id),
        stage=gone.stage,
        code=gone.error.get("code"),
        reason=reason,
        by=caller.scope.caller,
    )
    return Response(status_code=204)


def _release_one(
    ctx: ApiContext, conn: Connection, caller: CallerInfo, one: UUID
) -> Released:
    which, found = _find(conn, caller, one)
    if found.stage == quarantined_items.STAGE:
        return quarantine_release.read_one(ctx, conn, caller, which)
    if found.entry_id is None:
        message = "A message is not sent again: its sender does that; discard it."
        raise InvalidRequestError.field("quarantine_id", "message", message)
    return quarantine.release(conn, which, limit=1)


def _find(
    conn: Connection, caller: CallerInfo, quarantine_id: UUID
) -> tuple[Which, Quarantined]:
    """Return one item of the caller's; another's counts as absent."""
    which = Which(lag.reach(conn, caller.scope.watched), id=quarantine_id)
    for found in quarantine.list_quarantined(conn, which, limit=1):
        return which, found
    raise NotFoundError


def _replayed(kept: dict[str, Any]) -> Response:
    return as_json(kept, 202, {"Idempotency-Replayed": "true"})


def _told(
    ctx: ApiContext, caller: CallerInfo, released: Released, answer: dict[str, Any]
) -> Response:
    """Nudge after the commit, and answer with the result."""
    for stage in released.stages:
        ctx.nudger.nudge(stage, [])
    log.info(
        "quarantine_released",
        released=released.released,
        stages=released.stages,
        resumed=released.resumed,
        by=caller.scope.caller,
    )
    return as_json(answer, 202)
