"""Sources: how each stands, and what an admin does to it."""

import asyncio
import os
import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body, Header, Query, Request, Response

from api.context import ApiContext, Caller, Ctx
from api.server.json_response import as_json
from api.sources.schemas.sources import (
    CheckOut,
    ReloadOut,
    SourceList,
    SourceOut,
    Triggered,
    TriggerIn,
    check_out,
    source_out,
)
from api.strict_route import described, strict_router
from shared import errors
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.http.secrets import Secrets
from shared.log import get_logger
from shared.messaging import nudges
from shared.postgres.pool import Connection, connection
from shared.settings.settings import Settings
from shared.sources import run_records, source_state
from shared.sources.admin import admin_actions, source_overview
from shared.sources.admin.check_source import Checked, check_configured
from shared.sources.runs import identity_changes, sync_config

log = get_logger()

router = strict_router("/v1/sources", "sources")

_EXCERPT_CHARS = 300


@router.get("")
@described("List the sources", SourceList, scope="read")
def list_sources(caller: Caller, ctx: Ctx) -> Response:
    """Every source of the caller's facility, and what is wrong with it."""
    with connection(ctx.pool) as conn:
        found = source_overview.list_sources(
            conn, caller.scope, ctx.settings.sources, stocks=ctx.stocks
        )
    admin = caller.scope.is_admin
    return as_json({"items": [source_out(one, admin=admin) for one in found]})


@router.post("/reload")
@described("Read the configuration file again", ReloadOut, scope="admin")
def reload_sources(
    caller: Caller,
    ctx: Ctx,
    *,
    confirm_identity: Annotated[
        bool, Query(description="Also where every record comes as a new entry by it.")
    ] = False,
) -> Response:
    """Take over what is said of sources that are pulled; a wrong one stays as it is."""
    fresh = Settings.load(os.environ)
    result = sync_config.reload(ctx.pool, fresh, confirm_identity=confirm_identity)
    told = {name: getattr(result, name) for name in ("added", "changed", "removed")}
    log.info("sources_reloaded", subject=caller.scope.subject, **told)
    invalid = [
        {"name": name, "message": error.message}
        for name, error in sorted(result.invalid.items())
    ]
    return as_json({**told, "invalid": invalid})


@router.get("/{source}")
@described("Look at one source", SourceOut, 404, scope="read")
def get_source(source: str, caller: Caller, ctx: Ctx) -> Response:
    """How it is asked, how it stands, what is here of it, and what is wrong."""
    return _one(ctx, caller.scope, source)


@router.post("/{source}/check")
@described(
    "Read one page of a source and store nothing", CheckOut, 404, 502, scope="admin"
)
async def check_source(source: str, caller: Caller, ctx: Ctx) -> Response:
    """Reachable, authorised, newest entries, and whatever looks wrong."""
    found = await asyncio.to_thread(_check, ctx, caller.scope, source)
    if not found.ok:
        raise errors.IngestionError(
            " ".join(found.problems),
            code="source_unreachable",
            source=source,
            reason=found.reason,
        )
    return as_json(check_out(found, [_sample(one) for one in found.sample]))


@router.post("/{source}/trigger")
@described("Run a source now", Triggered, 404, 409, scope="admin", status_code=202)
def trigger_source(
    source: str,
    asked: Annotated[TriggerIn, Body(default_factory=TriggerIn)],
    caller: Caller,
    ctx: Ctx,
) -> Response:
    """Queue one run: what is new, a comparison, the history, or a new reading."""
    wanted = run_records.RunRequest(
        asked.start, asked.end, asked.limit, asked.dry_run, asked.confirm_prune
    )
    tenant = caller.scope.tenant
    with connection(ctx.pool) as conn:
        _refuse_pushed(ctx, conn, caller.scope, source)
        run_id = admin_actions.ask(conn, tenant, source, asked.kind, wanted)
    log.info(
        "source_triggered", source=source, kind=asked.kind, subject=caller.scope.subject
    )
    _nudge(ctx, source, asked.kind)
    return as_json({"run_id": str(run_id)}, 202)


@router.post("/{source}/pause")
@described("Ask a source no more", SourceOut, 404, scope="admin")
def pause_source(source: str, caller: Caller, ctx: Ctx) -> Response:
    """A run in hand ends with its page; nothing is lost, it goes on from there."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        _refuse_pushed(ctx, conn, scope, source)
        admin_actions.pause(conn, scope.tenant, source, subject=scope.subject)
    log.info("source_paused", source=source, subject=scope.subject)
    return _one(ctx, scope, source)


@router.post("/{source}/resume")
@described("Ask a source again", SourceOut, 404, scope="admin")
def resume_source(source: str, caller: Caller, ctx: Ctx) -> Response:
    """At once, and with no failure counted."""
    with connection(ctx.pool) as conn:
        _refuse_pushed(ctx, conn, caller.scope, source)
        admin_actions.resume(conn, caller.scope.tenant, source)
    log.info("source_resumed", source=source, subject=caller.scope.subject)
    _nudge(ctx, source, run_records.TAIL)
    return _one(ctx, caller.scope, source)


@router.post("/{source}/nudge")
@described(
    "Say that a source has something new",
    status_code=202,
    openapi_extra={"security": []},
)
async def nudge_source(
    source: str,
    request: Request,
    ctx: Ctx,
    logchord_signature: Annotated[str, Header(max_length=200)] = "",
) -> Response:
    """No key: the body is signed with the source's secret, and makes its tail due."""
    body = await request.body()
    await asyncio.to_thread(_signed_nudge, ctx, source, logchord_signature, body)
    return Response(status_code=202)


def _signed_nudge(ctx: ApiContext, source: str, signature: str, body: bytes) -> None:
    with connection(ctx.pool) as conn:
        found = source_state.current_settings(conn, {}, [source])
        name = found[source].nudge_secret if source in found else None
        # Without a secret the answer is that of a wrong signature.
        secret = Secrets(source).read(name) if name else os.urandom(32).hex()
        admin_actions.nudge(
            conn, source, secret=secret, signature=signature, body=body, now=time.time()
        )
    _nudge(ctx, source, run_records.TAIL)


def _check(ctx: ApiContext, scope: Scope, name: str) -> Checked:
    with connection(ctx.pool) as conn:
        _refuse_pushed(ctx, conn, scope, name)
        _, source = admin_actions.pulled_source(conn, scope.tenant, name)
        coming = _not_taken_over(conn, name)
    found = check_configured(ctx.settings, name, source)
    return replace(found, problems=(*found.problems, *coming))


def _refuse_pushed(ctx: ApiContext, conn: Connection, scope: Scope, name: str) -> None:
    """Refuse to ask a source that is there, and that nothing is read from."""
    found = source_overview.list_sources(
        conn, scope, ctx.settings.sources, name, stocks=ctx.stocks
    )
    if found and not found[0].settings.is_pulled:
        message = f"Entries are pushed to {name}; nothing is read from it."
        raise errors.InvalidRequestError.field("source", "pushed", message)


def _not_taken_over(conn: Connection, name: str) -> list[str]:
    """List the changes in the file that the next reload would refuse."""
    try:
        coming = Settings.load(os.environ).sources.get(name)
    except errors.ConfigurationError as exc:
        if (exc.config_key or "").startswith(f"sources.{name}."):
            return [exc.message]
        # What is wrong with others is none of this source's, nor of its tenant's.
        return ["The configuration file cannot be read by now; run `logchord config`."]
    wrong = identity_changes.refusal(conn, name, coming) if coming else None
    return [f"In the configuration file by now: {wrong.message}"] if wrong else []


def _nudge(ctx: ApiContext, source: str, kind: str) -> None:
    try:
        nudges.send_run(ctx.app, source, kind)
    except errors.CapacityError as exc:
        # The row is due all the same: the scheduler nudges for it.
        log.warning("nudge_lost", source=source, technical=exc.technical)


def _one(ctx: ApiContext, scope: Scope, name: str) -> Response:
    with connection(ctx.pool) as conn:
        found = source_overview.list_sources(
            conn, scope, ctx.settings.sources, name, stocks=ctx.stocks
        )
    if not found:
        raise admin_actions.unread_source(name)
    return as_json(source_out(found[0], admin=scope.is_admin))


def _sample(draft: EntryDraft) -> dict[str, Any]:
    return {
        "external_id": draft.external_id,
        "entry_time": draft.entry_time.isoformat() if draft.entry_time else None,
        "authors": list(draft.authors),
        "logbooks": list(draft.logbooks),
        "title": draft.title,
        "text": draft.text[:_EXCERPT_CHARS],
        "flags": list(draft.flags),
    }
