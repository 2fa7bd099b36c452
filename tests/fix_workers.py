"""What the tasks of workers need, for tests that run them in their own process."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest
from celery import Celery
from kombu import pools

from local.server import Server
from shared.messaging.broker import make_app
from shared.settings.settings import Settings
from workers.runtime.context import Context, Resources

MakeContext = Callable[..., Context]


@pytest.fixture
def make_context(database: str, valkey: Server) -> Iterator[MakeContext]:
    """Makes a worker's context by settings: without OpenSearch, unless they name it."""
    made: list[Resources] = []

    def make(kind: type[Context] = Context, **given: str) -> Context:
        settings = Settings.load(
            {
                "DATABASE_URL": database,
                "BROKER_URL": valkey.url,
                "OPENSEARCH_URL": "off",
                "OPENSEARCH_INDEX": f"test_{secrets.token_hex(6)}",
                "EMBEDDING_MODEL": "hashing-384",
                **given,
            }
        )
        made.append(Resources(settings, make_app(settings), "test"))
        return kind(made[-1], {})

    yield make
    for one in made:
        one.close()


def close_pools(app: Celery) -> None:
    """End an application's connections to its broker, and have kombu forget them.

    It keeps pools by address, closed ones too: the next broker at this port gets them.
    """
    closed = app.pool
    closed.force_close_all()
    for group in (pools.connections, pools.producers):
        for key, pool in [*group.items()]:
            if closed in (pool, getattr(pool, "connections", None)):
                group.pop(key)
