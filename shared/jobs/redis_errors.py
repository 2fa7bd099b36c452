"""What the Redis client raises, in our own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from shared.errors import CapacityError

RETRY_AFTER_SECONDS = 1


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn a Redis that cannot be reached, or refuses, into 503."""
    try:
        yield
    except (redis.RedisError, OSError) as exc:
        raise CapacityError(
            "The message broker is not reachable; try again shortly.",
            code="broker_unavailable",
            technical=f"{type(exc).__name__}: {exc}",
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from exc
