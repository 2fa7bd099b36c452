"""Embedding models: which there are, filling another one, and switching to it."""

from typing import Annotated

from fastapi import Body, Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx
from api.operations.routes.chores import log_request, needs_installation
from api.operations.schemas.chores import QueuedOut
from api.operations.schemas.embed_models import (
    EmbedModelsOut,
    PlannedOut,
    ReembedIn,
    embed_model_out,
)
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.embedding.models import model_names
from shared.embedding.switch import reembed
from shared.embedding.vectors import model_registry
from shared.postgres.pool import connection

router = strict_router("/v1/embed-models", "operations", needs_installation)

_Asked = Annotated[ReembedIn, Body(default_factory=ReembedIn)]


@router.get("")
@described("List the embedding models", EmbedModelsOut)
def get_embed_models(ctx: Ctx) -> Response:
    """From the registry; each table is counted."""
    with connection(ctx.pool) as conn:
        found = [embed_model_out(one) for one in model_registry.list_models(conn)]
    return as_json({"models": found}, 200)


# A name may hold slashes: a folder's path, a provider's model.
@router.post("/{model:path}/reembed")
@described(
    "Embed every entry for another model",
    QueuedOut,
    *(404, 409),
    also={200: {"model": PlannedOut}},
    status_code=202,
)
def reembed_model(model: str, body: _Asked, caller: Caller, ctx: Ctx) -> Response:
    """Behind everything live; searches stay with the model that is live."""
    return _ask(ctx, caller, model, body, activate=False)


@router.post("/{model:path}/activate")
@described(
    "Have searches read another model",
    QueuedOut,
    *(404, 409),
    also={200: {"model": PlannedOut}},
    status_code=202,
)
def activate_model(model: str, body: _Asked, caller: Caller, ctx: Ctx) -> Response:
    """Once it has a vector of everything; what it lacks is embedded first."""
    return _ask(ctx, caller, model, body, activate=True)


def _ask(
    ctx: ApiContext, caller: CallerInfo, asked: str, body: ReembedIn, *, activate: bool
) -> Response:
    model = model_names.check_model_name(asked, ctx.settings)
    with connection(ctx.pool) as conn:
        if body.dry_run:
            missing = model_registry.missing(conn, model)
            return as_json({"model": model, "missing": missing}, 200)
        maintenance_id = reembed.ask(
            conn, model, batch=body.batch, activate=activate, force=body.force
        )
    told = {"model": model, "activate": activate}
    log_request("reembed_asked_for", maintenance_id, caller, **told)
    return as_json({"maintenance_id": str(maintenance_id)}, 202)
