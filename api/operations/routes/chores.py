"""Chores of the installation: asked for, looked at and stopped; searches go on."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Response

from api.context import Caller, Ctx
from api.operations.schemas.chores import (
    KnowledgeIn,
    KnowledgeQueuedOut,
    MaintenanceOut,
    QueuedOut,
    RebuildIn,
    maintenance_out,
)
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.errors import AccessError
from shared.log import get_logger
from shared.opensearch import rebuild
from shared.postgres.pool import connection
from shared.stages import derived_data
from shared.work import chore_records

log = get_logger()


async def needs_installation(who: Caller) -> None:
    """Refuse whoever is not an admin of all facilities: chores are everybody's."""
    if who.scope.everywhere and who.scope.is_admin:
        return
    raise AccessError(
        "This needs a key with the scope 'admin' of the tenant '*'.",
        code="scope_missing",
        details={"needed": "admin:*"},
    )


vars(needs_installation)["needed"] = "admin"
router = strict_router("/v1", "operations", needs_installation)


@router.get("/maintenance/{maintenance_id}")
@described("Look how far a chore has come", MaintenanceOut, 404)
def get_maintenance(maintenance_id: UUID, ctx: Ctx) -> Response:
    """From its row; one that has ended is told for 30 days."""
    with connection(ctx.pool) as conn:
        return as_json(maintenance_out(chore_records.find(conn, maintenance_id)))


@router.delete("/maintenance/{maintenance_id}")
@described("Stop a chore between two of its steps", MaintenanceOut, 404)
def cancel_maintenance(maintenance_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Stop a chore: finished steps stay, and one that has ended is left. Idempotent."""
    with connection(ctx.pool) as conn:
        found = chore_records.cancel(conn, maintenance_id)
    standing = {"kind": found.kind, "state": found.state}
    log_request("chore_cancelled", maintenance_id, caller, **standing)
    return as_json(maintenance_out(found))


@router.post("/search/index/rebuild")
@described("Make the search index anew", QueuedOut, 409, status_code=202)
def rebuild_index(
    body: Annotated[RebuildIn, Body(default_factory=RebuildIn)],
    caller: Caller,
    ctx: Ctx,
) -> Response:
    """Searches go on in the old index until the new one equals Postgres."""
    with connection(ctx.pool) as conn:
        maintenance_id = rebuild.ask(conn, full=body.full)
    log_request("rebuild_asked_for", maintenance_id, caller, full=body.full)
    return as_json({"maintenance_id": str(maintenance_id)}, 202)


@router.post("/advisory-ai/index/rebuild")
@described(
    "Have every text read and every vector made anew",
    KnowledgeQueuedOut,
    409,
    status_code=202,
)
def rebuild_knowledge(
    _: Annotated[KnowledgeIn, Body(default_factory=KnowledgeIn)],
    caller: Caller,
    ctx: Ctx,
) -> Response:
    """A rebuild of the search index that is asked for meanwhile waits for it."""
    with connection(ctx.pool) as conn:
        maintenance_id = derived_data.ask(conn)
    log_request("knowledge_rebuild_asked_for", maintenance_id, caller)
    return as_json({"maintenanceId": str(maintenance_id)}, 202)


def log_request(event: str, maintenance_id: UUID, caller: Caller, **more: Any) -> None:
    """Log what somebody has asked of a chore."""
    subject = caller.scope.subject
    log.info(event, maintenance_id=str(maintenance_id), subject=subject, **more)
