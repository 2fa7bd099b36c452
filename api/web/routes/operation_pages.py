"""How the system is, and what was quarantined, for whoever looks after it."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from api.context import Caller, Ctx, needs, needs_whole_facility
from api.operations.routes import quarantine
from api.operations.routes.status import load_status, make_lag_body
from api.operations.schemas.quarantine import Filter
from api.web import rendering
from api.web.page_route import page_router, read_form
from shared.errors import InvalidRequestError

router = page_router()


@router.get("/status", dependencies=[Depends(needs("read"))])
@router.get("/status.json", dependencies=[Depends(needs("read"))])
async def get_status_page(request: Request, caller: Caller, ctx: Ctx) -> Response:
    """Show components, stages and sources, and first what is wrong."""
    told, seen = await load_status(caller, ctx)
    lag = make_lag_body(seen, caller.scope)
    body = {**told, "stages": lag["stages"], "as_of": lag["as_of"]}
    body["queues"] = lag["workers"]
    flower = f"http://127.0.0.1:{ctx.settings.flower_port}"
    # The quarantine names entries of every logbook.
    names_all = caller.scope.logbooks is None
    return rendering.show(
        request, "status.html", body, flower=flower, names_all=names_all
    )


@router.get("/quarantine", dependencies=[Depends(needs_whole_facility)])
@router.get("/quarantine.json", dependencies=[Depends(needs_whole_facility)])
def get_quarantine_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    source: Annotated[Filter | None, Query()] = None,
    stage: Annotated[Filter | None, Query()] = None,
    cursor: str | None = None,
    typed: Annotated[str | None, Query(alias="reason")] = None,
    chosen: Annotated[str | None, Query(alias="id")] = None,
) -> Response:
    """List what was quarantined, with the reason of each, and one as it was typed."""
    listed = quarantine.list_quarantine(
        *(caller, ctx), source=source, stage=stage, limit=50, cursor=cursor
    )
    body = rendering.body_of(listed)
    typed_of = {chosen: typed}
    return rendering.show(
        *(request, "quarantine.html", body), source=source, stage=stage, typed=typed_of
    )


@router.post("/quarantine", dependencies=[Depends(needs_whole_facility)])
async def post_quarantine_form(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    source: Annotated[Filter | None, Query()] = None,
    stage: Annotated[Filter | None, Query()] = None,
) -> Response:
    """Retry or discard one of them, and list the others as before.

    To discard needs a reason.
    """
    form = {name: str(value) for name, value in (await read_form(request)).items()}
    await asyncio.to_thread(_act, form, caller, ctx)
    links = rendering.Links(ctx.settings.base_path)
    return RedirectResponse(links("/quarantine", source=source, stage=stage), 303)


def _act(form: dict[str, str], caller: Any, ctx: Any) -> None:
    try:
        chosen = UUID(form.get("id", ""))
    except ValueError as exc:
        message = "id: name the one that is meant."
        raise InvalidRequestError.field("id", "value", message) from exc
    does = "retry" if form.get("action") == "retry" else "discard"
    caller.audited.update(request=f"POST /quarantine {does}", target=str(chosen))
    if does == "retry":
        quarantine.retry_one(chosen, caller, ctx)
    elif form.get("reason", "").strip():
        quarantine.discard(chosen, caller, ctx, reason=form["reason"].strip())
    else:
        message = "reason: say why it is given up."
        raise InvalidRequestError.field("reason", "missing", message)
