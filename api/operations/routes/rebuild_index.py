"""The search index as a whole: made anew beside the old one."""

from __future__ import annotations

from fastapi import Response

from api.context import Caller, Ctx
from api.operations.routes.chores import needs_installation
from api.operations.schemas.chores import QueuedOut, RebuildIn
from api.server.errors import documented
from api.server.json_response import as_json
from api.strict_route import strict_router
from shared.log import get_logger
from shared.opensearch import rebuild
from shared.postgres.pool import connection

log = get_logger()

router = strict_router("/v1/search/index", "operations", needs_installation)


@router.post(
    "/rebuild",
    status_code=202,
    summary="Make the search index anew",
    response_model=QueuedOut,
    responses=documented(409),
)
def rebuild_index(body: RebuildIn, caller: Caller, ctx: Ctx) -> Response:
    """Searches go on in the old index until the new one equals Postgres."""
    with connection(ctx.pool) as conn:
        maintenance_id = rebuild.ask(conn, full=body.full)
    log.info(
        "rebuild_asked_for",
        maintenance_id=str(maintenance_id),
        full=body.full,
        subject=caller.scope.subject,
    )
    return as_json({"maintenance_id": str(maintenance_id)}, 202)
