"""Real servers, started once per test run; a database of its own for each test."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from local import service_user
from local.opensearch import QUICK_START, EmbeddedOpenSearch
from local.postgres import EmbeddedPostgres
from local.server import Place, Server, ServerError, free_port
from local.valkey import EmbeddedValkey
from shared import migrations
from shared.settings.settings import Settings

TESTS = Path(__file__).parent

Reap = Callable[[int | Path], None]


def pytest_configure() -> None:
    """End a run by SIGTERM as by Ctrl-C: fixtures still stop what they started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Ignored in a run that a shell began in the background, and in all its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def reap() -> Iterator[Reap]:
    """Note what must not outlive this run, even when it is killed."""
    descriptor, name = tempfile.mkstemp(prefix="logchord-reap-")
    os.close(descriptor)
    listed = Path(name)
    child = subprocess.Popen(
        [sys.executable, str(TESTS / "reaper.py"), name],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )

    def note(what: int | Path) -> None:
        with listed.open("a", encoding="utf-8") as lines:
            lines.write(f"{what}\n")

    yield note
    listed.write_text("", encoding="utf-8")
    assert child.stdin is not None
    child.stdin.close()
    child.wait(timeout=30)


@pytest.fixture(scope="session")
def place(reap: Reap) -> Iterator[Place]:
    """A home of this run's servers, beside the cache that all stacks share."""
    home = Path(tempfile.mkdtemp(prefix="logchord-test-"))
    reap(home)
    cache = Path(Settings.load({}).cache)
    if configured := os.environ.get("LOGCHORD_CACHE"):
        cache = Path(configured)
    yield Place(home=home, cache=cache)
    service_user.discard_home(home)
    shutil.rmtree(home, ignore_errors=True)


def _run(server: Server, reap: Reap, seconds: float) -> Iterator[Server]:
    try:
        server.start()
        if server.pid is not None:
            reap(server.pid)
        server.wait_ready(seconds)
    except ServerError as exc:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{server.name} is not to be had here: {exc}")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres(place: Place, reap: Reap) -> Iterator[Server]:
    """Postgres with pgvector and pg_trgm."""
    password = secrets.token_urlsafe(16)
    yield from _run(EmbeddedPostgres(place, free_port(), password), reap, 60)


@pytest.fixture(scope="session")
def valkey(place: Place, reap: Reap) -> Iterator[Server]:
    """Valkey, which holds nothing worth keeping."""
    password = secrets.token_urlsafe(16)
    yield from _run(EmbeddedValkey(place, free_port(), password), reap, 30)


@pytest.fixture(scope="session")
def opensearch(place: Place, reap: Reap) -> Iterator[Server]:
    """OpenSearch; one for the run, each test with an index of its own."""
    yield from _run(
        EmbeddedOpenSearch(place, free_port(), java_options=QUICK_START), reap, 150
    )


@pytest.fixture(scope="session")
def template(postgres: Server) -> str:
    """A migrated database that every test copies in thirty milliseconds."""
    name = f"template_{migrations.checksum_of_all()}"
    create_database(postgres.url, name)
    migrations.migrate(of_database(postgres.url, name))
    return name


@pytest.fixture
def database(postgres: Server, template: str) -> Iterator[str]:
    """The address of a migrated database that is this test's alone."""
    name = f"test_{secrets.token_hex(6)}"
    create_database(postgres.url, name, template)
    yield of_database(postgres.url, name)
    drop_database(postgres.url, name)


@pytest.fixture
def conn(database: str) -> Iterator[Connection[TupleRow]]:
    """A connection to this test's database."""
    with psycopg.connect(database) as conn:
        yield conn


@pytest.fixture
def committing(database: str) -> Iterator[Connection[TupleRow]]:
    """A connection to this test's database that commits each statement."""
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def of_database(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    return f"{url.rsplit('/', 1)[0]}/{name}"


def create_database(url: str, name: str, template: str = "template0") -> None:
    """Create a database; by the write-ahead log a copy takes 30 ms, not 91."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log").format(
        sql.Identifier(name), sql.Identifier(template)
    )
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)


def drop_database(url: str, name: str) -> None:
    """Drop a database, whoever is still connected."""
    statement = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)
