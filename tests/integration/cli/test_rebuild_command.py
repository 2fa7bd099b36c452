"""`logchord rebuild` over real workers: begun, looked at again, stopped, and told."""

import json
from contextlib import closing
from functools import partial

import psycopg
import pytest

from shared.opensearch import aliases, rebuild
from shared.opensearch.client import make_client
from shared.settings.settings import Settings
from shared.work import chore_records
from tests.support.fixtures.system import System
from tests.support.typed import Run, typed
from tests.support.waiting import until


@pytest.fixture(scope="module")
def system(make_lasting_system, opensearch) -> System:
    made = make_lasting_system(opensearch=opensearch.url, EMBEDDING_MODEL="hashing-64")
    made.start("api", "enhance", "upkeep", "chores")
    made.wait_ready("enhance", "upkeep", "chores")
    return made


@pytest.fixture
def logchord(system: System) -> Run:
    return partial(typed, environ=system.environment, folder=system.logs)


def indices(system: System) -> aliases.Indices:
    url = system.environment["OPENSEARCH_URL"]
    client = make_client(Settings.load({"OPENSEARCH_URL": url}))
    assert client is not None
    with closing(client):
        return aliases.look(client, system.environment["OPENSEARCH_INDEX"])


@pytest.mark.requirement("S4-63", "C47")
@pytest.mark.timeout(240)
def test_a_rebuild_is_followed_to_its_end_and_the_new_index_is_searched(
    system, logchord
):
    with system.client() as client:
        for number in range(3):
            one = {"external_id": str(number), "text": "the wiggler whistled"}
            client.post("/v1/entries", json=one).raise_for_status()
    until(lambda: indices(system).read is not None, within_seconds=30)
    before = indices(system).read
    nothing = logchord("rebuild", "--stop")
    assert (nothing.returncode, nothing.stderr) == (3, "No rebuild is under way.\n")

    with system.client(system.key(tenant="*", scopes=("admin",))) as installation:
        asked = installation.post("/v1/search/index/rebuild", json={})
        chore = asked.json()["maintenance_id"]
        # One is under way: it is shown to its end.
        ended = logchord("rebuild", "--json")
        found = installation.get(f"/v1/maintenance/{chore}").json()

    assert (asked.status_code, ended.returncode) == (202, 0), ended.stderr
    told = json.loads(ended.stdout)
    assert told == found
    after = indices(system)
    assert (told["state"], told["done"]) == ("done", 3)
    assert told["result"]["index"] == after.read == after.write != before
    assert "waiting for searches in the old index ... 3 of 3 entries" in ended.stderr
    status = json.loads(logchord("status", "--json").stdout)
    assert status["index"]["drift"] == 0


@pytest.mark.timeout(240)
def test_one_that_is_stopped_leaves_the_old_index_and_is_taken_back(system, logchord):
    with system.client() as client:
        one = {"external_id": "1", "text": "the wiggler whistled"}
        client.post("/v1/entries", json=one).raise_for_status()
    until(lambda: indices(system).read is not None, within_seconds=30)
    before = indices(system)
    system.kill("chores")
    begun = logchord("rebuild", "--no-wait")
    again = logchord("rebuild", "--no-wait")
    with psycopg.connect(system.database, autocommit=True) as conn:
        chore = rebuild.find_unfinished_rebuild(conn)
        assert chore is not None
        assert begun.stdout == again.stdout == f"rebuild {chore}: queued\n"
        assert "One is under way already" in again.stderr
        # Somebody has claimed before, and keeps it waiting.
        conn.execute(
            "INSERT INTO work (entry_id, stage, tenant, claim, claimed_at,"
            " leased_until) SELECT id, 'index', tenant, uuidv7(), now(),"
            " now() + interval '1 h' FROM entry"
            " ON CONFLICT (entry_id, stage) DO UPDATE SET claim = excluded.claim,"
            " claimed_at = now(), leased_until = excluded.leased_until"
        )
        system.start("chores")
        until(
            lambda: chore_records.find(conn, chore).phase == "wait",
            within_seconds=60,
            what=lambda: system.tail("chores"),
        )

        stopped = logchord("rebuild", "--stop")

        assert stopped.returncode == 0, stopped.stderr
        assert chore_records.find(conn, chore).state == "cancelled"
        assert indices(system).read == before.read
        # Whoever kept it waiting lets it go.
        conn.execute("UPDATE work SET leased_until = now()")
    until(
        lambda: indices(system) == before,
        within_seconds=30,
        what=lambda: system.tail("upkeep"),
    )
