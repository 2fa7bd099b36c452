"""Waiting until what was just written can be found."""

import asyncio
from itertools import chain, repeat
from uuid import UUID

from api.context import ApiContext
from api.server import thread_pool
from shared.embedding.vectors import live_models
from shared.errors import OpenSearchError
from shared.log import get_logger
from shared.opensearch import mapping
from shared.opensearch.client import refresh
from shared.postgres.pool import connection
from shared.stages import entry_stages
from shared.work import backlog

log = get_logger()

# Whoever does not wait at all has it opened all the same.
_LEAST_SECONDS = 1.0
_POLL_SECONDS = (0.05, 0.05, 0.1, 0.25)


async def wait(ctx: ApiContext, ids: list[UUID], wait_ms: int) -> bool:
    """Return once nothing is due that search needs, or False when time is up."""
    now = asyncio.get_running_loop().time
    deadline = now() + wait_ms / 1000
    pauses = chain(_POLL_SECONDS, repeat(_POLL_SECONDS[-1]))
    while await thread_pool.run_step(_still_due, ctx, ids):
        if now() >= deadline:
            return False
        await asyncio.sleep(next(pauses))
    # A busy engine is asked again for as long as the caller waits.
    while not await asyncio.to_thread(_refreshed, ctx, deadline - now()):
        if now() >= deadline:
            return False
        await asyncio.sleep(next(pauses))
    return True


def _refreshed(ctx: ApiContext, seconds: float) -> bool:
    if ctx.opensearch is None:
        return True
    try:
        alias = mapping.read_alias(ctx.settings.opensearch_index)
        refresh(ctx.opensearch, alias, max(seconds, _LEAST_SECONDS))
    except OpenSearchError as exc:
        log.warning("index_not_refreshed", technical=exc.technical)
        return False
    return True


def _still_due(ctx: ApiContext, ids: list[UUID]) -> bool:
    beside = entry_stages.list_finder_stages(ctx.settings)
    with connection(ctx.pool) as conn:
        known = live_models.list_stages(conn, ctx.settings)
        return backlog.any_due(conn, ids, [one for one in known if one not in beside])
