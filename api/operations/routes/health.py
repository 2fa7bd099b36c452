"""Health: is it alive, is it ready, and what S1's clients ask."""

import asyncio
from collections.abc import Mapping
from typing import Literal

from fastapi import Request, Response
from pydantic import BaseModel

from api.access.callers import is_forwarded, is_loopback
from api.context import ApiContext, Ctx
from api.operations.probes import Finding
from api.server import metrics
from api.server.errors import documented
from api.server.json_response import as_json
from api.strict_route import StrictRoute, StrictRouter, described
from shared.access.keys import DEFAULT_TENANT
from shared.embedding.vectors import live_models, vector_tables
from shared.errors import CapacityError, DatabaseConnectionError, DatabaseQueryError
from shared.language_models import quota
from shared.language_models.chosen_model import PURPOSES, choose_model
from shared.log import get_logger
from shared.messaging import task_names
from shared.postgres.pool import connection
from shared.sources.admin.source_overview import behind
from shared.work import lag, live_processes, stage_pauses, work_overview

log = get_logger()

router = StrictRouter(tags=["health"], route_class=StrictRoute)

_LISTING_SECONDS = 0.3
# However many scrape it.
_PROBES_KEPT_SECONDS = 1.0
# Without these nothing works; the others have a way round them.
_NEEDED = ("postgres", "migrations")


class Alive(BaseModel):
    """The process runs."""

    status: Literal["alive"]


class Ready(BaseModel):
    """Whether requests should be sent here."""

    ready: bool
    checks: dict[str, Literal["ok", "degraded", "down"]]


class Collection(BaseModel):
    """One vector table."""

    name: str


class VectorDb(BaseModel):
    """The vector tables."""

    collections: list[Collection]


class Health(BaseModel):
    """The shape of the reference, for ever."""

    status: Literal["healthy", "degraded", "unhealthy"]
    vector_db: VectorDb
    keyword_engine: Literal["connected", "disconnected"]


@router.get("/health/live")
@described("Is the process alive?", Alive)
async def live() -> dict[str, str]:
    """Answer without touching anything."""
    return {"status": "alive"}


@router.get("/health/ready")
@described(
    "Should requests be sent here?",
    Ready,
    also={503: {"model": Ready, "description": "Postgres or the schema is away."}},
)
async def ready(ctx: Ctx) -> Response:
    """Probe every backend at once, 300 ms each."""
    found = await ctx.probes.all()
    checks = {name: _state(name, one) for name, one in found.items()}
    well = all(checks[name] == "ok" for name in _NEEDED)
    return as_json({"ready": well, "checks": checks}, 200 if well else 503)


@router.get("/health")
@described(
    "Health in the shape of the reference",
    Health,
    also={503: {"model": Health, "description": "Postgres is away."}},
)
async def health(ctx: Ctx) -> Response:
    """For S1's clients; use `/health/live` for liveness probes."""
    found, (names, spent) = await asyncio.gather(ctx.probes.all(), _known(ctx))
    down = not found["postgres"].ok
    all_well = all(found[name].ok for name in _needed(ctx, found)) and not spent
    status = "unhealthy" if down else "healthy" if all_well else "degraded"
    connected = found["opensearch"].ok
    body = {
        "status": status,
        "vector_db": {"collections": [{"name": name} for name in names]},
        "keyword_engine": "connected" if connected else "disconnected",
    }
    return as_json(body, 503 if down else 200)


@router.get("/metrics")
@described(
    "Figures for Prometheus",
    also={
        200: {"content": {"text/plain": {}}, "description": "Prometheus text."},
        **documented(),
    },
)
async def get_metrics(request: Request, ctx: Ctx) -> Response:
    """Open on loopback; elsewhere for admins, whose counts are their facility's."""
    peer = request.client.host if request.client else ""
    whose = lag.ANY_TENANT
    if is_forwarded(request) or not is_loopback(peer):
        scope = await ctx.callers.find(request)
        scope.require("admin")
        whose = scope.watched
    work, quotas, found = await asyncio.gather(
        asyncio.to_thread(_work, ctx, whose),
        asyncio.to_thread(_quotas, ctx, whose),
        ctx.probes.all(kept_seconds=_PROBES_KEPT_SECONDS),
    )
    components = {name: found[name].ok for name in _needed(ctx, found)}
    text = metrics.render(work, quotas, components)
    return Response(text, media_type="text/plain; version=0.0.4")


def _needed(ctx: ApiContext, found: Mapping[str, Finding]) -> set[str]:
    """Return the names of all that should answer: what is switched off need not."""
    url = ctx.settings.opensearch_url
    is_off = url is not None and url.get_secret_value() == "off"
    return {*found} - ({"opensearch"} if is_off else set())


def _state(name: str, found: Finding) -> str:
    if found.ok:
        return "ok"
    return "down" if name in _NEEDED else "degraded"


async def _known(ctx: ApiContext) -> tuple[list[str], bool]:
    try:
        async with asyncio.timeout(_LISTING_SECONDS):
            return await asyncio.to_thread(_tables_and_budgets, ctx)
    except (TimeoutError, DatabaseConnectionError, DatabaseQueryError):
        # Said by `status`: Postgres has its own probe beside this listing.
        return [], False


def _tables_and_budgets(ctx: ApiContext) -> tuple[list[str], bool]:
    """Return the vector tables, and whether a stage has quarantined all it may."""
    with connection(ctx.pool) as conn:
        names = [one.table_name for one in vector_tables.list_active_models(conn)]
        resting = stage_pauses.list_pauses(conn)
    return names, any(one.code == stage_pauses.BUDGET_SPENT for one in resting)


def _work(ctx: ApiContext, whose: str) -> metrics.WorkFigures | None:
    try:
        with connection(ctx.pool) as conn:
            reach = lag.reach(conn, whose)
            known = live_models.list_stages(conn, ctx.settings)
            found = ctx.counts.get(reach, lambda: lag.measure_lag(conn, known, reach))
            alive = live_processes.list_processes(conn)
            queues = work_overview.by_queue(alive, task_names.QUEUES)
            return metrics.WorkFigures(found, behind(conn, whose), queues)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # This process's own figures matter most when Postgres is away.
        log.warning("metrics_without_postgres", code=exc.error_code)
        return None


def _quotas(ctx: ApiContext, whose: str) -> dict[str, int]:
    """Return how many answers a model may still word, by tenant."""
    settings = ctx.settings
    if not any(choose_model(settings, purpose) for purpose in PURPOSES):
        return {}
    given = settings.synthesis
    most = (given.quota_per_day, given.quota_per_minute)
    try:
        tenants = {DEFAULT_TENANT, *settings.tenants, *quota.list_tenants(ctx.jobs)}
        return {
            one: quota.left_answers(ctx.jobs, one, *most)
            for one in sorted(tenants)
            if whose in {lag.ANY_TENANT, one}
        }
    except CapacityError as exc:
        log.warning("metrics_without_quotas", code=exc.error_code)
        return {}
