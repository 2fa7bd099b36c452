"""What is derived of entries in Postgres as a whole: made anew while it is searched."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from api.answers import as_json
from api.context import Caller, Ctx
from api.door_route import DoorRoute
from api.errors import documented
from api.routes.maintenance import needs_installation
from api.schemas.maintenance import KnowledgeIn, KnowledgeQueuedOut
from shared.log import get_logger
from shared.postgres import connection
from shared.stages import knowledge

log = get_logger()

router = APIRouter(
    prefix="/v1/advisory-ai/index",
    tags=["operations"],
    route_class=DoorRoute,
    dependencies=[Depends(needs_installation)],
)


@router.post(
    "/rebuild",
    status_code=202,
    summary="Have every text read and every vector made anew",
    response_model=KnowledgeQueuedOut,
    responses=documented(409),
)
def rebuild_knowledge(_: KnowledgeIn, caller: Caller, ctx: Ctx) -> Response:
    """A rebuild of the search index that is asked for meanwhile waits for it."""
    with connection(ctx.pool) as conn:
        maintenance_id = knowledge.ask(conn)
    log.info(
        "knowledge_rebuild_asked_for",
        maintenance_id=str(maintenance_id),
        subject=caller.scope.subject,
    )
    return as_json({"maintenanceId": str(maintenance_id)}, 202)
