"""What is derived of entries in Postgres as a whole: made anew while it is searched."""

from __future__ import annotations

from fastapi import Response

from api.context import Caller, Ctx
from api.operations.routes.chores import needs_installation
from api.operations.schemas.chores import KnowledgeIn, KnowledgeQueuedOut
from api.server.errors import documented
from api.server.json_response import as_json
from api.strict_route import strict_router
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.stages import derived_data

log = get_logger()

router = strict_router("/v1/advisory-ai/index", "operations", needs_installation)


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
        maintenance_id = derived_data.ask(conn)
    log.info(
        "knowledge_rebuild_asked_for",
        maintenance_id=str(maintenance_id),
        subject=caller.scope.subject,
    )
    return as_json({"maintenanceId": str(maintenance_id)}, 202)
