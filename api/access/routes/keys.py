"""API keys of a facility: made, listed and revoked by its admins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Path, Response

from api.access.schemas.keys import KeyCreated, KeyIn, KeyPage, key_out
from api.context import Caller, Ctx, needs
from api.server.json_response import as_json
from api.server.list_page import ListPage
from api.server.parameters import PageSize
from api.strict_route import described, strict_router
from shared.access import keys
from shared.errors import NotFoundError
from shared.log import get_logger
from shared.postgres.pool import connection

log = get_logger()

router = strict_router("/v1/keys", "access", needs("admin"))


@router.get("")
@described("List API keys", KeyPage)
def list_keys(
    caller: Caller, ctx: Ctx, limit: PageSize = 50, cursor: str | None = None
) -> Response:
    """The newest first, revoked ones too; never their secrets."""
    scope = caller.scope
    pages = ListPage(ctx, scope, "GET /v1/keys", "", limit)
    after = keys.read_place(pages.open(cursor))
    with connection(ctx.pool) as conn:
        found = keys.list_keys(conn, scope.watched, limit=limit + 1, after=after)
    page, next_cursor = pages.close(found, lambda last: last.place)
    return as_json({"items": [*map(key_out, page)], "next_cursor": next_cursor})


@router.post("")
@described("Create an API key", KeyCreated, status_code=201)
def post_key(body: KeyIn, caller: Caller, ctx: Ctx) -> Response:
    """Its token is shown this once; a key of some logbooks makes no key of more."""
    scope = caller.scope
    keys.check_logbooks(scope, body.logbooks)
    expires_at = None
    if body.expires_in_days is not None:
        expires_at = datetime.now(UTC) + timedelta(days=body.expires_in_days)
    with connection(ctx.pool) as conn:
        made = keys.create_key(
            conn,
            tenant=scope.tenant,
            name=body.name,
            subject=body.subject,
            scopes=body.scopes,
            logbooks=body.logbooks,
            rate_per_minute=body.rate_per_minute,
            expires_at=expires_at,
        )
    caller.audited["target"] = made.key_id
    log.info("key_created", key_id=made.key_id, by=scope.caller)
    return as_json({"key_id": made.key_id, "token": made.token}, 201)


@router.delete("/{key_id}")
@described("Revoke an API key", None, 404, status_code=204)
def delete_key(
    key_id: Annotated[str, Path(min_length=1, max_length=100)],
    caller: Caller,
    ctx: Ctx,
) -> Response:
    """Every API process refuses it within two seconds; a repeat is the same."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        revoked = keys.revoke(conn, scope.watched, key_id)
    if revoked is None:
        raise NotFoundError
    # Whoever did it, it is told to the admins of the facility that the key is of.
    caller.audited["tenant"] = revoked.tenant
    log.info("key_revoked", key_id=key_id, by=scope.caller)
    return Response(status_code=204)
