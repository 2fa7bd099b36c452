"""SEC4: two hundred texts that mean something to a database, for every parameter."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.support import injections
from tests.support.fixtures.system import System
from tests.support.fixtures.watched import WatchedPostgres
from tests.support.injections import BY_POSTGRES, FILTERS, STRINGS, found
from tests.support.statements import fetch_value
from tests.support.waiting import until

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
    # Taken for a device, of which a card tells.
    "OFFSET 0",
)


@pytest.fixture
def system(make_system, watched_postgres, opensearch) -> Iterator[System]:
    """A system whose statements are counted."""
    made = make_system(
        opensearch=opensearch.url,
        database=watched_postgres.url,
        LOGCHORD_FAULT_INJECTION="true",
    )
    made.bring_up("api", "search", "enhance")
    yield made
    made.kill_all()


def ask_harmlessly(client: httpx2.Client) -> None:
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
    system: System, watched_postgres: WatchedPostgres
) -> None:
    token = system.key(scopes=injections.SCOPES)
    with system.client(token) as client:
        sent = injections.push(client, STRINGS)
        until(
            lambda: injections.is_indexed(client), within_seconds=60, what="the index"
        )
        until(lambda: not _due(system), within_seconds=60, what="metadata and index")
        system.stop("enhance")
        ask_harmlessly(client)
        # Twice: the second knows of the first, which is a statement too.
        known = watched_postgres.statements() | watched_postgres.statements()

        for said in STRINGS:
            injections.ask(client, said)
            injections.ask_everywhere(client, said, STRINGS)

        new = {
            one
            for one in watched_postgres.statements() - known
            if BY_THE_CLOCK not in one
        }
        assert new == set()
        assert injections.ok(client.get("/v1/entries"))["total"] == sent
        print(f"SEC4 strings={len(STRINGS)} statements={len(known)} new={len(new)}")


def _due(system: System) -> int:
    statement = "SELECT count(*) FROM work WHERE stage IN ('metadata', 'index')"
    return fetch_value(system.database, statement)
