"""The FastAPI application: one per process, made by `create_app`."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from fastapi import FastAPI

from api.access.callers import Callers, is_loopback
from api.access.key_use import KeyUse
from api.access.routes import me
from api.context import ApiContext
from api.entries.push_backpressure import Backlog
from api.entries.routes import (
    attachments,
    changes,
    entries,
    entry_writes,
    permalink,
    threads,
)
from api.entries.uploads import Uploads
from api.operations import health_checks
from api.operations.probes import Probes
from api.operations.routes import (
    chores,
    documentation,
    embed_models,
    health,
    quarantine,
    rebuild_derived,
    rebuild_index,
    status,
)
from api.search.exports import Exports
from api.search.routes import (
    advisory_ai,
    capabilities,
    filter_options,
    glossary,
    plain_search,
    quality,
    search,
    search_again,
    search_jobs,
    similar,
    suggestions,
)
from api.search.searches import Searches
from api.search.sessions import Sessions
from api.search.suggestions import Suggestions
from api.search.telemetry import Telemetry
from api.server import errors, openapi
from api.server.request_limits import Gate
from api.server.thread_pool import Threads
from api.sources.routes import runs, sources
from shared import log as logs
from shared.access.cursors import Signer
from shared.access.installation_secret import installation_secret
from shared.access.limits import Limiter
from shared.errors import ConfigurationError
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.celery_app import make_app
from shared.messaging.nudges import Nudger
from shared.messaging.redis_link import RedisLink
from shared.opensearch import client as opensearch
from shared.postgres.count_cache import Sparing
from shared.postgres.pool import connection, make_pool
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.version import VERSION

# Two attempts of two calls: a Redis that hangs costs a search 4 s, not 20.
_JOBS_TIMEOUT_SECONDS = 1.0
# A hosted one takes a while, and each question to it may cost.
_PROVIDER_SECONDS = _PROVIDER_KEPT_SECONDS = 2.0
_DESCRIPTION = "Search for electronic logbooks: push entries, ask questions."

_ROUTES = (
    documentation,
    entries,
    entry_writes,
    attachments,
    changes,
    permalink,
    threads,
    search,
    search_again,
    plain_search,
    search_jobs,
    capabilities,
    filter_options,
    similar,
    suggestions,
    quality,
    advisory_ai,
    glossary,
    sources,
    runs,
    status,
    quarantine,
    chores,
    rebuild_index,
    rebuild_derived,
    embed_models,
    me,
    health,
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; backends are connected when it starts to serve."""
    settings = settings or Settings.load(os.environ)
    _refuse_open_door(settings)
    logs.configure("api", settings.log_level)
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
    for module in _ROUTES:
        app.include_router(module.router, prefix=base)
    openapi.describe(app, settings)
    errors.register(app)
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
    try:
        yield
    finally:
        await context.backlog.stop()
        await context.key_use.stop()
        await context.searches.stop()
        await context.sessions.stop()
        await asyncio.to_thread(context.telemetry.stop)
        context.limiter.close()
        context.nudger.stop()
        context.pool.close()


def _open(settings: Settings) -> ApiContext:
    if settings.database_url is None:
        message = "No database is known: run `logchord up`, or set DATABASE_URL."
        raise ConfigurationError(message, config_key="DATABASE_URL")
    url = settings.database_url.get_secret_value()
    pool = make_pool(
        url,
        application="api",
        size=settings.database_pool_size,
        read_only=settings.read_only,
    )
    celery = make_app(settings)
    jobs = redis_clients.jobs_redis(settings, timeout_seconds=_JOBS_TIMEOUT_SECONDS)
    clock = BrokerClock(jobs)
    limiter = Limiter(lambda: RedisLink.open(redis_clients.brief_redis(settings)))
    key_use = KeyUse(pool)

    @lru_cache(maxsize=1)
    def secret() -> bytes:
        with connection(pool) as conn:
            return installation_secret(conn)

    def signer() -> Signer:
        return Signer(secret(), settings.cursor_ttl_minutes * 60)

    engine = opensearch.make_client(settings)
    searches = Searches(settings, celery, jobs, clock, pool, signer, engine)
    sessions = Sessions(
        redis_clients.brief_redis(settings),
        settings.session.inactivity_seconds,
        searches.facility,
    )
    return ApiContext(
        settings=settings,
        pool=pool,
        app=celery,
        jobs=jobs,
        clock=clock,
        nudger=Nudger(celery),
        searches=searches,
        sessions=sessions,
        suggestions=Suggestions(searches),
        telemetry=Telemetry(settings, pool, secret, searches.facility),
        callers=Callers(settings, pool, limiter, key_use.note),
        limiter=limiter,
        secret=secret,
        signer=signer,
        probes=Probes(health_checks.questions(settings, url)),
        provider=Probes(
            {"provider": health_checks.of_provider(settings, url)},
            *(_PROVIDER_SECONDS, _PROVIDER_KEPT_SECONDS),
        ),
        backlog=Backlog(
            pool,
            entry_stages.list_runnable_stages(settings),
            settings.max_backlog_entries,
        ),
        opensearch=engine,
        uploads=Uploads(settings, pool),
        key_use=key_use,
        exports=Exports(settings, url),
        counts=Sparing(lambda found: sum(one.due + one.bulk for one in found.stages)),
        entry_counts=Sparing(max),
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
