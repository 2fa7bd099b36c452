"""The Valkey of the tests as jobs of searches use it: its settings, and a client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from local.server import Server
from shared.messaging import broker
from shared.settings.settings import Settings


@pytest.fixture
def on_valkey(valkey: Server) -> Settings:
    """Settings with that server and no other."""
    return Settings.load({"BROKER_URL": valkey.url})


@pytest.fixture
def jobs_client(on_valkey: Settings) -> Iterator[redis.Redis]:
    """A client of the database in which jobs are kept."""
    made = broker.jobs_redis(on_valkey)
    yield made
    made.close()
