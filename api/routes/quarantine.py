"""What was put aside: looked at, made due again, or given up on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Response

from api.answers import as_json
from api.context import ApiContext, Caller, CallerInfo, Ctx, needs
from api.door_route import DoorRoute
from api.errors import documented
from api.pushes import first_stages
from api.schemas.quarantine import (
    AsideOut,
    AsidePage,
    Filter,
    ReleasedOut,
    RetryIn,
    aside_out,
    released_out,
)
from shared.access import idempotency
from shared.access.cursors import Binding
from shared.due import lag, quarantine
from shared.due.quarantine import Aside, Released, Which
from shared.errors import InvalidRequestError, NotFoundError
from shared.log import get_logger
from shared.postgres import connection
from shared.sources import again, rejected

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

log = get_logger()

router = APIRouter(
    prefix="/v1/quarantine",
    tags=["operations"],
    route_class=DoorRoute,
    dependencies=[Depends(needs("admin"))],
)

_ONCE = Header(
    description="The same key again gets the same answer.",
    # Written down here and checked elsewhere: the refusal has a code of its own.
    json_schema_extra={"pattern": "^[!-~]{1,128}$"},
)


@router.get(
    "",
    summary="List what was put aside",
    response_model=AsidePage,
    responses=documented(),
)
def list_quarantine(
    caller: Caller,
    ctx: Ctx,
    source: Annotated[Filter | None, Query()] = None,
    stage: Annotated[Filter | None, Query()] = None,
    code: Annotated[Filter | None, Query()] = None,
    limit: Annotated[int | None, Query(ge=1, le=100)] = None,
    cursor: Annotated[str | None, Query(max_length=512)] = None,
) -> Response:
    """Newest first, of your facility; with a key of `*` everybody's, and messages."""
    limit = ctx.settings.default_limit if limit is None else limit
    if limit > ctx.settings.max_page_size:
        message = f"limit: a page may hold {ctx.settings.max_page_size}."
        raise InvalidRequestError.field("limit", "less_than_equal", message)
    query = json.dumps([caller.scope.watched, source, stage, code])
    binding = Binding("GET /v1/quarantine", query, _who(caller), limit)
    after = None
    if cursor is not None:
        (last,) = ctx.signer().open(cursor, binding)
        after = UUID(last)
    with connection(ctx.pool) as conn:
        whose = lag.reach(conn, caller.scope.watched)
        which = Which(whose, source=source, stage=stage, code=code)
        found = quarantine.listing(conn, which, limit=limit + 1, after=after)
    page = found[:limit]
    next_cursor = None
    if len(found) > limit:
        next_cursor = ctx.signer().make([str(page[-1].id)], binding)
    body = {"items": [aside_out(one) for one in page], "next_cursor": next_cursor}
    return as_json(body)


@router.get(
    "/{quarantine_id:uuid}",
    summary="Read why one was put aside",
    response_model=AsideOut,
    responses=documented(404),
)
def get_quarantine(quarantine_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """With the whole error, its technical part included."""
    with connection(ctx.pool) as conn:
        _, found = _find(conn, caller, quarantine_id)
        return as_json(aside_out(found))


@router.post(
    "/retry",
    summary="Make many due again",
    response_model=ReleasedOut,
    status_code=202,
    responses=documented(409),
)
def retry_many(
    body: RetryIn,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: Annotated[str | None, _ONCE] = None,
) -> Response:
    """As bulk work, the newest first; a stage that its budget paused goes on."""

    def release(conn: Connection[TupleRow]) -> Released:
        whose = lag.reach(conn, caller.scope.watched)
        which = Which(whose, source=body.source, stage=body.stage, code=body.code)
        released = quarantine.release(conn, which, limit=body.limit)
        if body.stage not in {None, rejected.STAGE}:
            return released
        left = body.limit - released.released
        return _read_again(ctx, conn, caller, released, which, left)

    asked = ("POST /v1/quarantine/retry", body.model_dump_json())
    return _released(ctx, caller, release, asked, idempotency_key)


@router.post(
    "/{quarantine_id:uuid}/retry",
    summary="Make one due again",
    response_model=ReleasedOut,
    status_code=202,
    responses=documented(404, 409),
)
def retry_one(
    quarantine_id: UUID,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: Annotated[str | None, _ONCE] = None,
) -> Response:
    """As live work, with its attempts to begin with."""

    def release(conn: Connection[TupleRow]) -> Released:
        which, found = _find(conn, caller, quarantine_id)
        if found.stage == rejected.STAGE:
            return _read_again(ctx, conn, caller, Released(0, [], []), which, 1)
        if found.entry_id is None:
            message = "A message is not sent again: its sender does that; discard it."
            raise InvalidRequestError.field("quarantine_id", "message", message)
        return quarantine.release(conn, which, limit=1)

    asked = ("POST /v1/quarantine/{quarantine_id}/retry", str(quarantine_id))
    return _released(ctx, caller, release, asked, idempotency_key)


@router.delete(
    "/{quarantine_id:uuid}",
    summary="Give up on one",
    status_code=204,
    response_class=Response,
    responses=documented(404),
)
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
        by=_who(caller),
    )
    return Response(status_code=204)


def _read_again(
    ctx: ApiContext,
    conn: Connection[TupleRow],
    caller: CallerInfo,
    released: Released,
    which: Which,
    limit: int,
) -> Released:
    """Read once more what a source sent; what still cannot be read stays aside."""
    if limit <= 0:
        return released
    stages = first_stages(ctx)
    read = again.read_again(
        conn,
        ctx.settings,
        caller.scope.tenant,
        stages,
        limit=limit,
        aside_id=which.id,
        source=which.source,
        code=which.code,
    )
    touched = sorted({*released.stages, *(stages if read.entries else ())})
    count = released.released + len(read.entries)
    return Released(count, released.resumed, touched, read.still_aside)


def _find(
    conn: Connection[TupleRow], caller: CallerInfo, quarantine_id: UUID
) -> tuple[Which, Aside]:
    """Return one of the caller's; absent and another's are one and the same."""
    which = Which(lag.reach(conn, caller.scope.watched), id=quarantine_id)
    for found in quarantine.listing(conn, which, limit=1):
        return which, found
    raise NotFoundError


def _released(
    ctx: ApiContext,
    caller: CallerInfo,
    release: Callable[[Connection[TupleRow]], Released],
    asked: tuple[str, str],
    key: str | None,
) -> Response:
    """Release in one commit with the key that names the request, then nudge."""
    route, body = asked
    once = None
    if key is not None:
        tenant, who = caller.scope.tenant, _who(caller)
        once = idempotency.request(tenant, who, route, key, body.encode())
    with connection(ctx.pool) as conn:
        kept = idempotency.begin(conn, once) if once is not None else None
        if kept is not None:
            return as_json(kept, 202, {"Idempotency-Replayed": "true"})
        released = release(conn)
        answer = released_out(released)
        if once is not None:
            idempotency.end(conn, once, answer)
    for stage in released.stages:
        ctx.nudger.nudge(stage, [])
    log.info(
        "quarantine_released",
        released=released.released,
        stages=released.stages,
        resumed=released.resumed,
        by=_who(caller),
    )
    return as_json(answer, 202)


def _who(caller: CallerInfo) -> str:
    return caller.scope.key_id or caller.scope.subject
