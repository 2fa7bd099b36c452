"""A Postgres that counts which statements it was given."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

import psycopg
import pytest

from local.postgres import EmbeddedPostgres
from local.server import Place, free_port
from shared import migrations
from tests.faults.fix_own_servers import own_home, start_again
from tests.fix_servers import Reap

_STATEMENTS = """
    SELECT s.query FROM pg_stat_statements s
      JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()"""


class WatchedPostgres(EmbeddedPostgres):
    """Postgres that counts which statements it was given."""

    def _command(self) -> list[str]:
        preloaded = "--shared_preload_libraries=pg_stat_statements"
        return [*super()._command(), preloaded, "--pg_stat_statements.max=10000"]

    def statements(self) -> set[str]:
        """Return what it was given so far, whatever the values were."""
        with psycopg.connect(self.url) as conn:
            rows = conn.execute(_STATEMENTS).fetchall()
        return {re.sub(r"\s+|\d+|\$", " ", text) for (text,) in rows}

    def forget(self) -> None:
        """Count from nothing."""
        with psycopg.connect(self.url) as conn:
            conn.execute("SELECT pg_stat_statements_reset()")


@pytest.fixture
def watched_postgres(place: Place, reap: Reap) -> Iterator[WatchedPostgres]:
    """A database of its own, whose statements are counted."""
    with own_home(place, reap) as own:
        server = WatchedPostgres(own, free_port(), secrets.token_urlsafe(16))
        start_again(server, reap)
        migrations.migrate(server.url)
        with psycopg.connect(server.url) as conn:
            conn.execute("CREATE EXTENSION pg_stat_statements")
        yield server
        server.stop()
