"""What searches are dispatched and ended with, opened once a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from api.search.searches import Searches
from shared.access.cursors import Signer
from shared.access.installation_secret import installation_secret
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.celery_app import make_app
from shared.opensearch import client as opensearch
from shared.postgres.pool import connection, make_pool

if TYPE_CHECKING:
    import redis
    from celery import Celery
    from opensearchpy import OpenSearch

    from shared.postgres.pool import Pool
    from shared.settings.settings import Settings

# Two attempts of two calls: a Redis that hangs costs a search 4 s, not 20.
_JOBS_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DataClients:
    """Postgres, OpenSearch and what signs cursors: enough to search in this process."""

    pool: Pool
    secret: Callable[[], bytes]
    signer: Callable[[], Signer]
    opensearch: OpenSearch | None

    @classmethod
    def open(cls, settings: Settings, application: str) -> Self:
        """Return clients that connect when they are first used."""
        pool = make_pool(
            settings.require_database_url(),
            application=application,
            size=settings.database_pool_size,
            read_only=settings.read_only,
        )

        @lru_cache(maxsize=1)
        def secret() -> bytes:
            with connection(pool) as conn:
                return installation_secret(conn)

        def signer() -> Signer:
            return Signer(secret(), settings.cursor_ttl_minutes * 60)

        return cls(pool, secret, signer, opensearch.make_client(settings))


@dataclass(frozen=True, slots=True)
class SearchClients:
    """The broker and the jobs in flight beside them, and the searches over all."""

    data: DataClients
    celery: Celery
    jobs: redis.Redis
    clock: BrokerClock
    searches: Searches

    @classmethod
    def open(cls, settings: Settings, application: str) -> Self:
        """Return clients that connect when they are first used."""
        data = DataClients.open(settings, application)
        celery = make_app(settings)
        jobs = redis_clients.jobs_redis(settings, timeout_seconds=_JOBS_TIMEOUT_SECONDS)
        clock = BrokerClock(jobs)
        searches = Searches(
            settings, celery, jobs, clock, data.pool, data.signer, data.opensearch
        )
        return cls(data, celery, jobs, clock, searches)
