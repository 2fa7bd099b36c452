"""A caller's own job, once it is stored: a search is answered first, and then kept."""

import time
from datetime import UTC, datetime
from uuid import UUID

from api.caller_info import CallerInfo
from api.context import ApiContext
from shared.access.scope import Scope
from shared.errors import CapacityError, NotFoundError
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.jobs.job import StoredJob

log = get_logger()

# Whoever has the answer may read on at once; its worker stores it within milliseconds.
_STORED_SECONDS = 2.0
_PAUSE_SECONDS = 0.02


def find(ctx: ApiContext, caller: CallerInfo, job_id: UUID) -> StoredJob:
    """Return the job, one just answered as soon as it is stored; else it is absent."""
    until = time.monotonic() + _STORED_SECONDS
    while (found := _stored(ctx, caller.scope, job_id)) is None:
        is_late = time.monotonic() >= until
        if is_late or not _is_on_its_way(ctx, caller.scope, job_id):
            raise NotFoundError
        time.sleep(_PAUSE_SECONDS)
    hours = ctx.settings.job_retention_hours
    jobs.refuse_expired(found, hours, datetime.now(UTC))
    return found


def _stored(ctx: ApiContext, scope: Scope, job_id: UUID) -> StoredJob | None:
    try:
        with connection(ctx.pool) as conn:
            return jobs.find_own_job(conn, scope, job_id)
    except NotFoundError:
        return None


def _is_on_its_way(ctx: ApiContext, scope: Scope, job_id: UUID) -> bool:
    """Tell whether this very caller has asked it a moment ago."""
    try:
        known = jobs.load_job(ctx.jobs, job_id)
    except CapacityError as exc:
        log.warning("job_not_looked_up", job_id=str(job_id), code=exc.error_code)
        return False
    asker = (scope.tenant, scope.subject, scope.key_id)
    return known is not None and (known.tenant, known.subject, known.key_id) == asker
