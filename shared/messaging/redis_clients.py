"""Clients of Redis, and the addresses of its databases."""

from urllib.parse import urlsplit, urlunsplit

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared.errors import ConfigurationError
from shared.settings.settings import Settings

# kombu's channel, the jobs of searches, the rate buckets: one server, three databases.
_JOBS_DATABASE, _LIMITER_DATABASE = 1, 2
LIMITER_TIMEOUT_SECONDS = 0.05


def broker_url(settings: Settings) -> str:
    """Return where nudges go."""
    if settings.broker_url is None:
        message = "No broker is known: run `logchord up`, or set BROKER_URL."
        raise ConfigurationError(message, config_key="BROKER_URL")
    return settings.broker_url.get_secret_value()


def search_url(settings: Settings) -> str:
    """Return where searches keep their jobs: a Redis of their own, or the broker's."""
    if settings.search_redis_url is not None:
        return settings.search_redis_url.get_secret_value()
    return broker_url(settings)


def _with_database(url: str, database: int) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def jobs_url(settings: Settings) -> str:
    """Return where jobs in flight are kept."""
    return _with_database(search_url(settings), _JOBS_DATABASE)


def jobs_redis(settings: Settings, *, timeout_seconds: float = 5.0) -> redis.Redis:
    """Return the client of jobs in flight; bounded in time, tried once."""
    return redis.Redis.from_url(
        jobs_url(settings),
        socket_timeout=timeout_seconds,
        socket_connect_timeout=min(2.0, timeout_seconds),
        socket_keepalive=True,
        health_check_interval=5,
        retry=Retry(NoBackoff(), 1),
        decode_responses=True,
    )


def mailbox_redis(settings: Settings) -> redis.asyncio.Redis:
    """Return the mailbox loop's own client: a blocked pop is never retried."""
    return redis.asyncio.Redis.from_url(
        jobs_url(settings),
        socket_timeout=None,
        socket_connect_timeout=2.0,
        socket_keepalive=True,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def brief_redis(settings: Settings) -> redis.asyncio.Redis:
    """Return a client of rate limits and sessions, which gives up after 50 ms."""
    return redis.asyncio.Redis.from_url(
        _with_database(broker_url(settings), _LIMITER_DATABASE),
        socket_timeout=LIMITER_TIMEOUT_SECONDS,
        socket_connect_timeout=LIMITER_TIMEOUT_SECONDS,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
        decode_responses=True,
    )
