"""F36: a backup while entries flow, everything lost, and all of it put back."""

import json
import secrets
import time
from pathlib import Path
from typing import LiteralString

import httpx2
import pytest

from tests.support.faults import previous
from tests.support.faults.measures.ledger import CONVERGE_SECONDS, Ledger, Posting
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SHORT_LEASE,
    N,
)
from tests.support.fixtures.servers import create_database, drop_database, of_database
from tests.support.fixtures.system import CORE, System
from tests.support.statements import fetch_rows
from tests.support.typed import typed

WORD = "quetzal"
EDITED, DELETED = N // 8, N // 8

_TEXTS: LiteralString = """
    SELECT e.id::text, r.text FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"""


@pytest.mark.slow
@pytest.mark.requirement("F36", "U23", "P1", "P2", "P6")
@pytest.mark.timeout(300)
def test_after_a_restore_the_index_is_as_the_backup_and_nothing_newer_is_found(
    make_system, opensearch, postgres, tmp_path
):
    system = make_system(
        opensearch=opensearch.url, **QUICK_VECTORS, **SHORT_LEASE, **EVERY_STAGE
    )
    system.bring_up(*CORE, "chores")
    ledger, file = Ledger(system, "F36"), tmp_path / "logchord.tar"

    with system.client() as client:
        ledger.post_many(client, range(N))
        before = dict(fetch_rows(system.database, _TEXTS))
        with Posting(ledger, system.key(), range(N, 2 * N)):
            began = time.monotonic()
            made = logchord(system, "backup", str(file), "--json")
            took = time.monotonic() - began
        for number in range(EDITED):
            ledger.post(client, number, f"the {WORD} sat on cavity {number}")
        for entry_id in [*before][-DELETED:]:
            client.delete(f"/v1/entries/{entry_id}").raise_for_status()
        newer = ledger.post(client, -1, f"the {WORD} on the klystron gallery")
        ledger.converge()
        assert newer in found(client)
    system.kill_all()
    name = system.database.rpartition("/")[2]
    drop_database(postgres.url, name)
    create_database(postgres.url, name)

    logchord(system, "restore", str(file))

    kept = dict(fetch_rows(system.database, _TEXTS))
    ledger.times = dict.fromkeys(kept, time.time())
    ledger.edits = 0
    system.bring_up(*CORE, "chores")
    ledger.note_end()
    shown: list[str] = []
    searches = 0
    with system.client() as client:
        ends = time.monotonic() + CONVERGE_SECONDS
        while not ledger.is_equal() and time.monotonic() < ends:
            shown += found(client)
            searches += 1
    line = ledger.converge()
    with system.client() as client:
        shown += found(client)

    flowed = len(kept) - N
    print(f"F36 backup_s={took:.2f} flowed={flowed} searches={searches}")
    assert searches
    assert json.loads(made)["entries"] == len(kept)
    assert before.items() <= kept.items()
    assert shown == []
    assert (line.accepted, line.harm) == (len(kept), {})


@pytest.mark.slow
@pytest.mark.requirement("U23")
@pytest.mark.timeout(300)
def test_the_backup_of_an_upgrade_is_what_the_previous_release_goes_on_with(
    make_system, postgres, tmp_path_factory
):
    known = previous.find()
    if known is None:
        pytest.skip("the history here does not reach back to the previous release")
    release = previous.unpack(known, tmp_path_factory.mktemp("previous"))
    name = f"back_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    system = make_system(database=of_database(postgres.url, name))
    old = {"code": release.folder}
    system.run("migrate", **old)
    made = ("keys", "create", "--name", "kept", "--scope", "read", "--scope", "ingest")
    token = system.run(*made, "--json", **old)

    told = json.loads(logchord(system, "upgrade", "--json"))
    logchord(system, "restore", told["backup"])

    assert len(told["applied"]) > 1
    # It ends with 1 where anything is pending, or is not as it was applied.
    system.run("migrate", "--check", **old)
    system.start("api", **old)
    system.wait_ready()
    with system.client(json.loads(token)["token"]) as client:
        one = {"external_id": "1", "text": "after the way back"}
        client.post("/v1/entries", json=one).raise_for_status()
    system.kill_all()
    drop_database(postgres.url, name)


def logchord(system: System, *words: str) -> str:
    done = typed(*words, environ=system.environment, folder=Path(system.logs))
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(client: httpx2.Client) -> list[str]:
    """Return the entries that are shown with the word in their text."""
    body = {"query": WORD, "mode": "keyword"}
    told = client.post("/v1/search/query", json=body).raise_for_status().json()
    return [str(one["entry_id"]) for one in told["results"] if WORD in json.dumps(one)]
