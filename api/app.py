"""The FastAPI application: one per process, made by `create_app`."""

import asyncio
import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from api.access.audit import Audit
from api.access.callers import Callers, is_loopback
from api.access.key_use import KeyUse
from api.access.routes import audit, keys, me
from api.context import ApiContext
from api.entries.carried_cache import CarriedCache
from api.entries.push_backpressure import Backlog
from api.entries.routes import (
    attachments,
    changes,
    digest,
    entries,
    entry_writes,
    permalink,
    threads,
)
from api.entries.uploads import Uploads
from api.operations.health_checks import HealthChecks
from api.operations.probes import Probes
from api.operations.routes import (
    chores,
    documentation,
    embed_models,
    health,
    quarantine,
    status,
)
from api.search.exports import Exports
from api.search.routes import (
    advisory_ai,
    capabilities,
    classify,
    filter_options,
    glossary,
    plain_search,
    quality,
    saved_searches,
    search,
    search_again,
    search_jobs,
    similar,
    suggestions,
    synthesize,
)
from api.search.search_clients import SearchClients
from api.search.sessions import Sessions
from api.search.suggestions import Suggestions
from api.search.telemetry import Telemetry
from api.server import errors, openapi
from api.server.request_limits import Gate
from api.server.thread_pool import Threads
from api.sources.routes import runs, sources
from api.web import page_route, pages
from shared import log as logs
from shared.access.limits import Limiter
from shared.errors import ConfigurationError
from shared.messaging import redis_clients
from shared.messaging.nudges import Nudger
from shared.messaging.redis_link import RedisLink
from shared.postgres.count_cache import Sparing
from shared.settings.settings import Settings
from shared.sources.admin import source_overview
from shared.stages import entry_stages
from shared.version import VERSION
from shared.work import lag

# A hosted one takes a while.
_PROVIDER_SECONDS = 2.0
_DESCRIPTION = "Search for electronic logbooks: push entries, ask questions."

_ROUTES = (
    documentation,
    *(entries, entry_writes, attachments, changes, permalink, threads, digest),
    *(search, search_again, plain_search, search_jobs, synthesize, capabilities),
    *(classify, filter_options, similar, suggestions, quality, advisory_ai),
    *(glossary, saved_searches, sources, runs, status, quarantine, chores),
    *(embed_models, me, keys, audit, health),
)


def create_app(settings: Settings | None = None, *, process: str = "api") -> FastAPI:
    """Return the application; backends are connected when it starts to serve."""
    settings = settings or Settings.load(os.environ)
    _refuse_open_door(settings)
    logs.configure(process, settings.log_level)
    base = settings.base_path
    app = FastAPI(
        title="Logchord",
        version=VERSION,
        description=_DESCRIPTION,
        openapi_url=f"{base}/openapi.json",
        docs_url=None,
        redoc_url=None,
        # An address has one spelling; a redirect would repeat the Host it was sent.
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.settings = settings
    for page in pages.ROUTERS:
        app.include_router(page, prefix=base)
    for module in _ROUTES:
        app.include_router(module.router, prefix=base)
    openapi.describe(app, settings)
    errors.register(app)
    page_route.show_missing(app)
    app.add_middleware(Gate, settings=settings)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context = _open(app.state.settings)
    app.state.context = context
    # The default has six threads on two cores, fewer than the pool has connections.
    threads = Threads(app.state.settings.database_pool_size + 4, "api")
    asyncio.get_running_loop().set_default_executor(threads)
    await context.searches.start()
    await context.backlog.start()
    await context.key_use.start()
    await context.audit.start()
    try:
        yield
    finally:
        await context.backlog.stop()
        await context.key_use.stop()
        await context.searches.stop()
        await context.sessions.stop()
        await asyncio.to_thread(context.telemetry.stop)
        await context.audit.stop()
        context.limiter.close()
        context.nudger.stop()
        context.pool.close()


def _open(settings: Settings) -> ApiContext:
    clients = SearchClients.open(settings, "api")
    data, searches = clients.data, clients.searches
    pool, url = data.pool, settings.require_database_url()
    limiter = Limiter(lambda: RedisLink.open(redis_clients.brief_redis(settings)))
    key_use = KeyUse(pool)
    checks = HealthChecks(settings, url)
    sessions = Sessions(
        redis_clients.brief_redis(settings),
        settings.session.inactivity_seconds,
        searches.facility,
    )
    return ApiContext(
        settings=settings,
        pool=pool,
        app=clients.celery,
        jobs=clients.jobs,
        clock=clients.clock,
        nudger=Nudger(clients.celery),
        searches=searches,
        sessions=sessions,
        suggestions=Suggestions(searches),
        telemetry=Telemetry(settings, pool, data.secret),
        callers=Callers(settings, pool, limiter, key_use.note, data.secret),
        limiter=limiter,
        secret=data.secret,
        signer=data.signer,
        probes=Probes(checks.list_questions()),
        provider=Probes({"provider": checks.provider}, _PROVIDER_SECONDS),
        backlog=Backlog(
            pool,
            entry_stages.list_runnable_stages(settings),
            settings.max_backlog_entries,
        ),
        carried=CarriedCache(),
        opensearch=data.opensearch,
        uploads=Uploads(settings, pool),
        key_use=key_use,
        audit=Audit(pool, keeps_reading=settings.audit.reading),
        exports=Exports(settings, url),
        counts=lag.keep_counts(),
        entry_counts=Sparing(max),
        stocks=source_overview.keep_stocks(),
        vector_counts=Sparing(
            lambda found: max(found.entries, found.embedded) if found else math.inf
        ),
    )


def _refuse_open_door(settings: Settings) -> None:
    if settings.anonymous_loopback and not is_loopback(settings.host):
        message = (
            f"anonymous_loopback is on, and the API would listen on {settings.host}:"
            " set it off, or bind 127.0.0.1."
        )
        raise ConfigurationError(message, config_key="anonymous_loopback")
