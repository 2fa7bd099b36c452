"""Servers of one test alone, to be killed, emptied, frozen and filled."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local import service_user
from local.postgres import EmbeddedPostgres
from local.server import EmbeddedServer, Place, free_port
from local.valkey import EmbeddedValkey
from shared import migrations
from tests.fix_servers import Reap

_READY_SECONDS = 60


@pytest.fixture
def own_postgres(place: Place, reap: Reap) -> Iterator[EmbeddedPostgres]:
    """A migrated Postgres that nobody else uses."""
    with own_home(place, reap) as own:
        server = EmbeddedPostgres(own, free_port(), secrets.token_urlsafe(16))
        start_again(server, reap)
        migrations.migrate(server.url)
        yield server
        server.stop()


@pytest.fixture
def own_valkey(place: Place, reap: Reap) -> Iterator[EmbeddedValkey]:
    """A Valkey that nobody else uses."""
    with own_home(place, reap) as own:
        server = EmbeddedValkey(own, free_port(), secrets.token_urlsafe(16))
        start_again(server, reap)
        yield server
        server.stop()


def start_again(server: EmbeddedServer, reap: Reap) -> None:
    """Start a server and return once it answers; it will not outlive the run."""
    server.start()
    assert server.pid is not None
    reap(server.pid)
    server.wait_ready(_READY_SECONDS)


@contextmanager
def own_home(place: Place, reap: Reap) -> Iterator[Place]:
    """A home of servers that nobody else uses, taken away at the end."""
    home = Path(tempfile.mkdtemp(prefix="logchord-test-"))
    reap(home)
    yield Place(home=home, cache=place.cache)
    service_user.discard_home(home)
    shutil.rmtree(home, ignore_errors=True)
