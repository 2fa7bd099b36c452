"""What is in force, who is alive, and how far each stage is behind."""

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import Any

from fastapi import Response

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.operations.probes import Finding
from api.operations.schemas.lag import (
    LagOut,
    StatusOut,
    chores_out,
    drift_out,
    loop_out,
    paused_stages,
    semantic_out,
    stage_out,
    worker_out,
)
from api.server.json_response import as_json
from api.sources.schemas.sources import lag_out, run_out
from api.strict_route import described, strict_router
from shared import migrations
from shared.access.scope import Scope
from shared.embedding.vectors import (
    live_models,
    not_embedded,
    semantic_preconditions,
    vector_tables,
)
from shared.embedding.vectors.semantic_preconditions import (
    EmbeddingCounts,
    Preconditions,
)
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.entries.reading import entry_counts, read_entries
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.messaging import stage_names, task_names
from shared.postgres import request_deadline
from shared.postgres.pool import Connection, connection
from shared.sources.admin import source_overview as source_views
from shared.sources.admin.source_overview import SourceView
from shared.stages import entry_stages
from shared.times.rfc3339 import timestamp
from shared.version import VERSION
from shared.work import lag, work_overview
from shared.work.work_overview import Overview

router = strict_router("/v1", "operations", needs("read"))

log = get_logger()

# Millions of vectors take longer to count than a status may take.
VECTORS_MS = 2_000
# A login to Postgres takes longer than all that is read there; health is asked anew.
_PROBES_KEPT_SECONDS = 1.0
# Each question to a hosted one may cost.
_PROVIDER_KEPT_SECONDS = 2.0
INDEXING_STAGES = (stage_names.METADATA_STAGE, stage_names.INDEX_STAGE)


@dataclass(frozen=True, slots=True)
class Standing:
    """The work, the index and the sources at one moment, as a caller may see them."""

    work: Overview
    index: dict[str, Any]
    sources: list[SourceView]

    @property
    def problems(self) -> list[str]:
        """Return the problems, those of the work first."""
        of_sources = [one.problem for one in self.sources if one.problem]
        return [*self.work.problems, *of_sources]


@router.get("/lag")
@described("How far each stage is behind", LagOut)
def get_lag(caller: Caller, ctx: Ctx) -> Response:
    """From the work table, not from the lengths of queues; counts are your own."""
    with connection(ctx.pool) as conn:
        seen = _load_standing(ctx, conn, caller.scope)
    return as_json(make_lag_body(seen, caller.scope))


@router.get("/status")
@described("Components, versions, workers", StatusOut)
async def get_status(caller: Caller, ctx: Ctx) -> Response:
    """Workers by their own rows, so also with Redis down."""
    status, _ = await load_status(caller, ctx)
    return as_json(status)


async def load_status(
    caller: CallerInfo, ctx: ApiContext
) -> tuple[dict[str, Any], Standing]:
    """Return the body of status, and how all stands that it was made of."""
    found, asked, (known, seen) = await asyncio.gather(
        ctx.probes.all(kept_seconds=_PROBES_KEPT_SECONDS),
        ctx.provider.all(kept_seconds=_PROVIDER_KEPT_SECONDS),
        asyncio.to_thread(_known, ctx, caller.scope),
    )
    components = {name: _component(one, caller.scope) for name, one in found.items()}
    known["semantic"]["provider"] = _component(asked["provider"], caller.scope)
    return {"version": VERSION, "components": components, **known}, seen


def _component(one: Finding, scope: Scope) -> dict[str, Any]:
    return {"ok": one.ok, **({"technical": one.technical} if scope.is_admin else {})}


def _overview(ctx: ApiContext, conn: Connection, scope: Scope) -> Overview:
    """Return how the work stands, as far as it is the caller's to know."""
    whose = lag.reach(conn, scope.watched)
    known = live_models.list_stages(conn, ctx.settings)
    counted = ctx.counts.get(whose, lambda: lag.measure_lag(conn, known, whose))
    most = ctx.settings.max_backlog_entries
    return work_overview.load_overview(
        conn,
        known,
        that_run=entry_stages.list_runnable_stages(ctx.settings),
        max_backlog=most,
        zone=ctx.settings.facility_timezone,
        tenant=whose,
        counted=counted,
    )


def _index(
    ctx: ApiContext, conn: Connection, scope: Scope, seen: Overview
) -> dict[str, Any]:
    key = json.dumps(scope.params, sort_keys=True)
    entries, lacking = ctx.entry_counts.get(
        key,
        lambda: (
            read_entries.count_entries(conn, scope, read_entries.ListingFilter()),
            entry_counts.count_unindexed(conn, scope),
        ),
    )
    return {
        "entries": entries,
        "indexed": max(0, entries - lacking) if ctx.opensearch else None,
        **drift_out(seen),
        "watermark": timestamp(lag.find_watermark(conn, INDEXING_STAGES)),
    }


def _load_standing(ctx: ApiContext, conn: Connection, scope: Scope) -> Standing:
    work = _overview(ctx, conn, scope)
    return Standing(
        work,
        _index(ctx, conn, scope, work),
        source_views.list_sources(conn, scope, ctx.settings.sources),
    )


def make_lag_body(seen: Standing, scope: Scope) -> dict[str, Any]:
    """Return the body of lag, as it is told with how all stands."""
    work = seen.work
    return {
        "as_of": timestamp(work.as_of),
        "sources": [lag_out(one, admin=scope.is_admin) for one in seen.sources],
        "stages": [stage_out(one, work.zone) for one in work.stages],
        "index": seen.index,
        "workers": [
            asdict(one)
            for one in work_overview.by_queue(work.processes, task_names.QUEUES)
        ],
        "locks": [{"name": one.name, "holder": one.holder} for one in work.loops],
        "problems": seen.problems,
    }


def _known(ctx: ApiContext, scope: Scope) -> tuple[dict[str, Any], Standing]:
    """Return the part of status that Postgres knows, and how all stands."""
    with connection(ctx.pool) as conn:
        seen = _load_standing(ctx, conn, scope)
        has_pgvector = semantic_preconditions.has_pgvector(conn)
        live = vector_tables.find_live_model(conn)
        not_embedded = _not_embedded(conn, scope, live)
        todo = migrations.list_pending(conn)
    semantic = Preconditions(
        has_pgvector, live.model if live else None, _vectors(ctx, scope.tenant, live)
    )
    work = seen.work
    known = {
        "migrations": {
            phase: [one.name for one in todo if one.phase == phase]
            for phase in ("pre", "post")
        },
        "entries": seen.index["entries"],
        "index": seen.index,
        "not_embedded": not_embedded,
        "semantic": semantic_out(semantic, admin=scope.is_admin),
        "sources": [_source(one, admin=scope.is_admin) for one in seen.sources],
        "workers": [worker_out(one) for one in work.processes],
        "upkeep": [loop_out(one) for one in work.loops],
        "chores": chores_out(work),
        **paused_stages(work.stages, work.zone),
        "problems": seen.problems,
    }
    return known, seen


def _vectors(
    ctx: ApiContext, tenant: str, live: EmbeddingModel | None
) -> EmbeddingCounts | None:
    """Return the counts, or None: what takes too long costs nothing else its place."""

    def found() -> EmbeddingCounts | None:
        try:
            with (
                request_deadline.hurried(VECTORS_MS / 1000),
                connection(ctx.pool) as conn,
            ):
                return semantic_preconditions.count(conn, tenant, live, VECTORS_MS)
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            log.warning("vectors_not_counted", code=exc.error_code)
            return None

    return ctx.vector_counts.get((tenant, live and live.model), found)


def _not_embedded(
    conn: Connection, scope: Scope, live: EmbeddingModel | None
) -> dict[str, int] | None:
    """Return how many entries have no vector on purpose, by reason.

    For admins: they are counted over the whole facility. None: for nobody else.
    """
    if "admin" not in scope.allowed:
        return None
    if live is None:
        return {}
    return not_embedded.count_skipped(conn, live.model, scope.tenant)


def _source(one: SourceView, *, admin: bool) -> dict[str, Any]:
    last = one.last_run
    return {
        **lag_out(one, admin=admin),
        "paused": bool(one.state and one.state.paused),
        "last_run": run_out(last, admin=False) if last else None,
    }
