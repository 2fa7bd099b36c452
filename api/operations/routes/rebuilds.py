"""What is derived of entries, made anew as a whole while searches go on."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from api.context import Caller, Ctx
from api.operations.routes.chores import needs_installation
from api.operations.schemas.chores import (
    KnowledgeIn,
    KnowledgeQueuedOut,
    QueuedOut,
    RebuildIn,
)
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.log import get_logger
from shared.opensearch import rebuild
from shared.postgres.pool import connection
from shared.stages import derived_data

log = get_logger()

router = strict_router("/v1", "operations", needs_installation)


@router.post("/search/index/rebuild")
@described("Make the search index anew", QueuedOut, 409, status_code=202)
def rebuild_index(body: RebuildIn, caller: Caller, ctx: Ctx) -> Response:
    """Searches go on in the old index until the new one equals Postgres."""
    with connection(ctx.pool) as conn:
        maintenance_id = rebuild.ask(conn, full=body.full)
    _log_request("rebuild_asked_for", maintenance_id, caller, full=body.full)
    return as_json({"maintenance_id": str(maintenance_id)}, 202)


@router.post("/advisory-ai/index/rebuild")
@described(
    "Have every text read and every vector made anew",
    KnowledgeQueuedOut,
    409,
    status_code=202,
)
def rebuild_knowledge(_: KnowledgeIn, caller: Caller, ctx: Ctx) -> Response:
    """A rebuild of the search index that is asked for meanwhile waits for it."""
    with connection(ctx.pool) as conn:
        maintenance_id = derived_data.ask(conn)
    _log_request("knowledge_rebuild_asked_for", maintenance_id, caller)
    return as_json({"maintenanceId": str(maintenance_id)}, 202)


def _log_request(
    event: str, maintenance_id: UUID, caller: Caller, **more: bool
) -> None:
    subject = caller.scope.subject
    log.info(event, maintenance_id=str(maintenance_id), subject=subject, **more)
