"""Chores of the installation: how far one has come, and stopping it."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from api.context import Caller, Ctx
from api.operations.schemas.chores import MaintenanceOut, maintenance_out
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.errors import AccessError
from shared.log import get_logger
from shared.postgres.pool import connection
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


router = strict_router("/v1/maintenance", "operations", needs_installation)


@router.get("/{maintenance_id}")
@described("Look how far a chore has come", MaintenanceOut, 404)
def get_maintenance(maintenance_id: UUID, ctx: Ctx) -> Response:
    """From its row; one that has ended is told for 30 days."""
    with connection(ctx.pool) as conn:
        return as_json(maintenance_out(chore_records.find(conn, maintenance_id)))


@router.delete("/{maintenance_id}")
@described("Stop a chore between two of its steps", MaintenanceOut, 404)
def cancel_maintenance(maintenance_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Stop a chore: finished steps stay, and one that has ended is left. Idempotent."""
    with connection(ctx.pool) as conn:
        found = chore_records.cancel(conn, maintenance_id)
    log.info(
        "chore_cancelled",
        maintenance_id=str(maintenance_id),
        kind=found.kind,
        state=found.state,
        subject=caller.scope.subject,
    )
    return as_json(maintenance_out(found))
