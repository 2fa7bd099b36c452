"""SEC4: two hundred texts that mean something to a database, for every parameter."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator

import httpx
import psycopg
import pytest

from local.postgres import EmbeddedPostgres
from local.server import Place, Server, free_port
from shared import migrations
from tests.faults.fix_own_servers import own_home, start_again
from tests.fix_servers import Reap
from tests.fix_system import System
from tests.integration import injections
from tests.integration.injections import BY_POSTGRES, FILTERS, STRINGS, found
from tests.waiting import until

# It measures nothing: it may take minutes beside what waits for minutes.
pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(900)]

# When a key was used is written from time to time.
BY_THE_CLOCK = "SET last_used_at"
# Questions of all kinds, none of which is an attack: what these run is known.
HARMLESS = (
    *("magnet", "magnet valve pump", '"magnet valve"', "magnet -valve", "magnet OR x"),
    *("magn*", "SR:C01-*", "magnett valvee", "author:anna magnet", "x'", "***", "$$"),
    *("NOT magnet", "(magnet OR valve) pump", "a b c d e f g h", "1=1", "%", "--"),
    *("date:2026-03-02 magnet", "id:quietbbb", "source:api", "metadata.note:quietbbb"),
    *("unheard0f", '"unheard0f of"', "unheard0f*", "1::int::text", "entry x"),
)
_STATEMENTS = """
    SELECT s.query FROM pg_stat_statements s
      JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()"""


class WatchedPostgres(EmbeddedPostgres):
    """Postgres that counts which statements it was given."""

    def _command(self) -> list[str]:
        preloaded = "--shared_preload_libraries=pg_stat_statements"
        return [*super()._command(), preloaded, "--pg_stat_statements.max=10000"]


@pytest.fixture
def watched(
    make_system: Callable[..., System], place: Place, opensearch: Server, reap: Reap
) -> Iterator[System]:
    """A system whose statements are counted."""
    with own_home(place, reap) as own:
        server = WatchedPostgres(own, free_port(), secrets.token_urlsafe(16))
        start_again(server, reap)
        migrations.migrate(server.url)
        with psycopg.connect(server.url) as conn:
            conn.execute("CREATE EXTENSION pg_stat_statements")
        system = make_system(
            opensearch=opensearch.url,
            database=server.url,
            LOGCHORD_FAULT_INJECTION="true",
        )
        system.start("api", "search", "enhance")
        system.wait_ready("search", "enhance")
        yield system
        system.stop_all()
        server.stop()


def statements(system: System) -> set[str]:
    """Return what Postgres was given so far, whatever the values were."""
    with psycopg.connect(system.database) as conn:
        rows = conn.execute(_STATEMENTS).fetchall()
    return {re.sub(r"\s+|\d+|\$", " ", text) for (text,) in rows}


def ask_harmlessly(client: httpx.Client) -> None:
    """Ask the like with texts that nobody could misread."""
    found(client, query="", filters=dict.fromkeys(FILTERS, "quietbbb"))
    for text in HARMLESS:
        for fields in ({}, {"filters": {"logbook": "quietbbb"}}):
            found(client, query=text, **fields)
            found(client, query=text, headers=BY_POSTGRES, **fields)
    for path in (
        *("/v1/entries?external_id=quietbbb", "/v1/entries?logbook=quietbbb"),
        *("/v1/entries?source=quietbbb", "/e/api/quietbbb", "/e/api/absent"),
        *("/v1/filter-options/logbook?prefix=quiet", "/v1/entries/absent"),
        *("/e/absent/quietbbb", "/v1/entries?cursor=x", "/v1/changes?after=x"),
        *("/v1/search/jobs?cursor=x", "/v1/filter-options/absent"),
    ):
        client.get(path)


@pytest.mark.requirement("SEC4")
def test_every_parameter_takes_every_text_for_a_text_and_runs_known_statements(
    watched: System,
) -> None:
    token = watched.key(scopes=injections.SCOPES)
    with watched.client(token) as client:
        sent = injections.push(client, STRINGS)
        until(
            lambda: injections.is_indexed(client), within_seconds=60, what="the index"
        )
        until(lambda: not _due(watched), within_seconds=60, what="metadata and index")
        watched.stop("enhance")
        ask_harmlessly(client)
        # Twice: the second knows of the first, which is a statement too.
        known = statements(watched) | statements(watched)

        for said in STRINGS:
            injections.ask(client, said)
            injections.ask_everywhere(client, said, STRINGS)

        new = {one for one in statements(watched) - known if BY_THE_CLOCK not in one}
        assert new == set()
        assert injections.ok(client.get("/v1/entries"))["total"] == sent
        print(f"SEC4 strings={len(STRINGS)} statements={len(known)} new={len(new)}")


def _due(system: System) -> int:
    with psycopg.connect(system.database) as conn:
        statement = "SELECT count(*) FROM work WHERE stage IN ('metadata', 'index')"
        row = conn.execute(statement).fetchone()
    return int(row[0]) if row else 0
