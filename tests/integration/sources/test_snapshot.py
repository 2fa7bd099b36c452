"""A file stands in for a source that stays away, and takes nothing away itself."""

import json
from typing import Any

import pytest

from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.sources.runs.kinds import snapshot
from tests.contract.stubs.als import AlsStub
from tests.support.fixtures.sources import TENANT, recent_entry
from tests.support.fixtures.system import System
from tests.support.waiting import until
from workers.adapters.kit.stored import Stock

NAME = "ring"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def als(runtime):
    stub = runtime.stub(AlsStub)
    runtime.configure(NAME, stub)
    return stub


def fail(runtime) -> None:
    """Let the source stay away for as long as it takes."""
    for _ in range(snapshot.FAILURES):
        runtime.run(NAME)


def standing(runtime) -> source_state.SourceState:
    with connection(runtime.pool) as conn:
        found = source_state.load_source_state(conn, TENANT, NAME)
    assert found is not None
    return found


def test_what_was_deleted_at_the_source_does_not_come_back(runtime, als, tmp_path):
    kept, gone = als.add(recent_entry(1)), als.add(recent_entry(2))
    runtime.run(NAME)
    file = tmp_path / "old.json"
    file.write_bytes(als.snapshot([kept, gone]))
    with connection(runtime.pool) as conn:
        conn.execute(
            "UPDATE entry SET deleted_at = now() WHERE external_id = %s", [gone]
        )

    runtime.configure(NAME, als, base_url=NOWHERE, snapshot_path=str(file))
    fail(runtime)

    assert standing(runtime).serving == "snapshot"
    assert set(runtime.texts(NAME)) == {kept}


def test_a_file_that_cannot_be_read_hides_no_failure(runtime, als, tmp_path):
    als.add(recent_entry(1))
    runtime.run(NAME)
    missing = tmp_path / "missing.json"
    runtime.configure(NAME, als, base_url=NOWHERE, snapshot_path=str(missing))

    fail(runtime)

    found = standing(runtime)
    assert (found.serving, found.failures) == ("live", snapshot.FAILURES)
    assert found.last_error is not None
    assert found.last_error["code"] == "source_unreachable"
    assert set(runtime.texts(NAME)) == {"1"}


def test_a_bad_record_costs_itself_and_a_known_entry_nothing(runtime, als, tmp_path):
    known, strange = als.add(recent_entry(1)), als.add(recent_entry(2))
    fresh = als.add(recent_entry(3))
    als.malform(known)
    als.malform(strange)
    file = tmp_path / "half.json"
    file.write_bytes(als.snapshot([known, strange, fresh]))
    als.edit(known, text="Text 1")
    als.delete(strange)
    als.delete(fresh)
    runtime.run(NAME)
    runtime.configure(NAME, als, base_url=NOWHERE, snapshot_path=str(file))

    fail(runtime)

    assert set(runtime.texts(NAME)) == {known, fresh}
    with connection(runtime.pool) as conn:
        aside = Stock(conn, TENANT, NAME).aside()
    assert [one["external_id"] for one in aside] == [strange]


def test_a_file_longer_than_a_turn_is_gone_on_with_in_the_next(runtime, als, tmp_path):
    ids = [als.add(recent_entry(number)) for number in range(1, 8)]
    file = tmp_path / "long.json"
    file.write_bytes(als.snapshot(ids))
    away = {"base_url": NOWHERE, "snapshot_path": str(file), "page_size": 2}
    runtime.configure(NAME, als, **away)
    for _ in range(snapshot.FAILURES - 1):
        runtime.run(NAME)
    run_id = runtime.ask(NAME)

    stored = []
    for _ in range(3):
        assert runtime.turn(NAME, run_records.TAIL, seconds=0) is None
        stored.append(len(runtime.texts(NAME)))
    error = runtime.turn(NAME, run_records.TAIL)

    assert stored == [2, 4, 6]
    assert len(runtime.texts(NAME)) == len(ids)
    assert error is not None
    assert error.error_code == "source_unreachable"
    run = runtime.found(run_id)
    assert (run.state, run.added, run.deleted) == ("partial", len(ids), 0)


@pytest.mark.requirement("S4-16", "S4-88", "ADP30")
@pytest.mark.timeout(180)
def test_a_stopped_logbook_is_served_from_half_a_snapshot_and_says_so(
    make_system, tmp_path
):
    stub = AlsStub()
    ids = [stub.add(recent_entry(number)) for number in range(1, 21)]
    only_there = stub.add(recent_entry(21))
    file = tmp_path / "half.json"
    file.write_bytes(stub.snapshot([*ids[:10], only_there]))
    stub.delete(only_there)
    source = {
        **stub.settings(),
        "snapshot_path": str(file),
        "poll_interval_seconds": 0.5,
        "max_retries": 0,
        "rate_per_second": 100,
        "history_start": "2015-01-01T00:00:00Z",
        "chunk_days": 3650,
        "max_consecutive_failures": 1000,
    }
    system: System = make_system(LOGCHORD_SOURCES=json.dumps({NAME: source}))
    system.bring_up("api", "ingest", "upkeep")
    with system.client(system.key(scopes=("admin",))) as admin:

        def told() -> dict[str, Any]:
            answer = admin.get(f"/v1/sources/{NAME}")
            return answer.json() if answer.is_success else {}

        until(lambda: told().get("entries") == len(ids), within_seconds=60)
        assert told()["serving"] == "live"

        stub.close()
        until(lambda: told()["serving"] == "snapshot", within_seconds=60)

        until(lambda: told()["entries"] == len(ids) + 1, within_seconds=30)
        items = admin.get("/v1/entries", params={"limit": 100}).json()["items"]
    assert {one["external_id"] for one in items} == {*ids, only_there}
