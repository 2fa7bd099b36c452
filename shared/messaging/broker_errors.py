"""A broker that cannot be reached, as the error that callers know."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis
from kombu.exceptions import OperationalError

from shared.errors import CapacityError


@contextmanager
def translate_broker_errors() -> Iterator[None]:
    """Turn a broker that cannot be reached, or refuses, into 503."""
    try:
        yield
    except (OperationalError, redis.RedisError, OSError) as exc:
        raise CapacityError(
            "The message broker is not reachable; try again shortly.",
            code="broker_unavailable",
            technical=f"{type(exc).__name__}: {exc}",
            retry_after_seconds=1,
        ) from exc
