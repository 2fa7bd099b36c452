"""Chores over HTTP: for admins of the whole installation alone."""

from uuid import uuid4

import psycopg
import pytest

from shared.work import chore_records
from shared.work.chore_records import RECONCILE_INDEX, REEMBED_MODEL, Progress


@pytest.fixture
def conn(api):
    with psycopg.connect(api.database, autocommit=True) as conn:
        yield conn
        conn.execute("DELETE FROM maintenance")


@pytest.fixture
def installation(api):
    """The admin of all facilities."""
    with api.client(api.key(tenant="*", scopes=("admin",))) as client:
        yield client


def opened(conn):
    chore_records.open_chore(conn, RECONCILE_INDEX)
    # A test before may have left others: a purge has the words counted.
    (found,) = [
        one.id
        for one in chore_records.list_unfinished(conn)
        if one.kind == RECONCILE_INDEX
    ]
    return found


def test_a_chore_tells_how_far_it_has_come(installation, conn):
    chore = opened(conn)
    address = f"/v1/maintenance/{chore}"
    waiting = installation.get(address).json()
    assert waiting["maintenance_id"] == str(chore)
    assert (waiting["state"], waiting["done"], waiting["total"]) == ("queued", 0, None)
    assert waiting["eta_seconds"] is None

    taken = chore_records.claim(conn, RECONCILE_INDEX)
    assert taken is not None
    conn.execute("UPDATE maintenance SET started_at = now() - interval '1 min'")
    chore_records.advance(conn, taken, Progress({"after": "x"}, 100, 400))

    running = installation.get(address).json()
    assert (running["state"], running["kind"]) == ("running", RECONCILE_INDEX)
    assert (running["done"], running["total"], running["error"]) == (100, 400, None)
    assert running["per_minute"] == pytest.approx(100, rel=0.1)
    assert running["eta_seconds"] == pytest.approx(180, rel=0.1)
    assert running["ended_at"] is None


def test_a_chore_is_stopped_once_and_its_worker_can_do_no_further_step(
    installation, conn
):
    chore = opened(conn)
    address = f"/v1/maintenance/{chore}"
    taken = chore_records.claim(conn, RECONCILE_INDEX)
    assert taken is not None

    stopped = installation.delete(address)
    again = installation.delete(address)

    assert stopped.status_code == again.status_code == 200
    assert stopped.json()["state"] == "cancelled"
    assert again.json() == stopped.json() == installation.get(address).json()
    with conn.transaction():
        assert not chore_records.hold(conn, taken)


@pytest.mark.requirement("S4-63")
def test_one_rebuild_at_a_time_is_asked_for_and_looked_at(installation, conn):
    asked = installation.post("/v1/search/index/rebuild", json={"full": True})
    again = installation.post("/v1/search/index/rebuild", json={})

    assert asked.status_code == 202
    chore = asked.json()["maintenance_id"]
    found = installation.get(f"/v1/maintenance/{chore}").json()
    assert (found["kind"], found["phase"]) == ("rebuild_index", "read")
    error = again.json()["error"]
    assert (again.status_code, error["code"]) == (409, "maintenance_in_progress")
    assert error["details"] == {"maintenance_id": chore}
    installation.delete(f"/v1/maintenance/{chore}")
    assert installation.post("/v1/search/index/rebuild", json={}).status_code == 202


@pytest.mark.requirement("S4-71")
def test_what_is_derived_is_made_anew_by_a_chore_of_its_own_one_at_a_time(
    installation, conn
):
    address = "/v1/advisory-ai/index/rebuild"
    asked = installation.post(address, json={})
    again = installation.post(address, json={})

    assert asked.status_code == 202
    chore = asked.json().pop("maintenanceId")
    found = installation.get(f"/v1/maintenance/{chore}").json()
    assert (found["kind"], found["phase"]) == ("rebuild_knowledge", "read")
    error = again.json()["error"]
    assert (again.status_code, error["code"]) == (409, "maintenance_in_progress")
    assert error["details"] == {"maintenance_id": chore}
    # The index is asked for all the same: it waits.
    index = installation.post("/v1/search/index/rebuild", json={})
    assert index.status_code == 202
    installation.delete(f"/v1/maintenance/{index.json()['maintenance_id']}")
    installation.delete(f"/v1/maintenance/{chore}")
    assert installation.post(address, json={}).status_code == 202


def test_a_chore_nobody_knows_is_not_found(installation):
    for ask in (installation.get, installation.delete):
        answer = ask(f"/v1/maintenance/{uuid4()}")
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.requirement("SEC1")
def test_the_admin_of_one_facility_sees_and_stops_no_chore(operator, conn):
    chore = opened(conn)

    for ask in (operator.get, operator.delete):
        answer = ask(f"/v1/maintenance/{chore}")
        assert answer.status_code == 403
        assert answer.json()["error"]["details"] == {"needed": "admin:*"}

    assert chore_records.find(conn, chore).state == "queued"


def test_embedding_models_are_listed_and_one_is_asked_to_be_filled_or_activated(
    installation, conn
):
    known = installation.get("/v1/embed-models").json()["models"]
    assert [one["model"] for one in known if one["active"]] in ([], [one_model(conn)])
    address = "/v1/embed-models/hashing-64"

    planned = installation.post(f"{address}/reembed", json={"dry_run": True})
    assert (planned.status_code, planned.json()["model"]) == (200, "hashing-64")
    assert (
        planned.json()["missing"]
        == conn.execute(
            "SELECT count(*) FROM entry WHERE deleted_at IS NULL"
        ).fetchone()[0]
    )

    asked = installation.post(f"{address}/reembed", json={})
    again = installation.post(f"{address}/activate", json={"force": True})

    assert asked.status_code == 202
    chore = asked.json()["maintenance_id"]
    found = installation.get(f"/v1/maintenance/{chore}").json()
    assert (found["kind"], found["phase"]) == ("reembed_model", "open")
    assert (again.status_code, again.json()["error"]["details"]) == (
        409,
        {"maintenance_id": chore},
    )
    installation.delete(f"/v1/maintenance/{chore}")
    folder = installation.post("/v1/embed-models/onnx:/a/b/activate", json={})
    assert folder.status_code == 202
    row = chore_records.find(conn, folder.json()["maintenance_id"])
    assert row.cursor is not None
    assert (row.cursor["model"], row.cursor["activate"]) == ("onnx:/a/b", True)


@pytest.mark.parametrize("name", ["nonsense", "nobody:model", "hashing-0", "x:y"])
def test_a_name_that_is_no_model_is_refused_before_any_chore(installation, conn, name):
    refused = installation.post(f"/v1/embed-models/{name}/reembed", json={})

    assert refused.status_code == 422
    (field,) = refused.json()["error"]["details"]["fields"]
    assert (field["path"], field["code"]) == ("model", "unknown_model")
    kinds = {chore.kind for chore in chore_records.list_unfinished(conn)}
    assert REEMBED_MODEL not in kinds


def one_model(conn):
    row = conn.execute("SELECT model FROM embedding_model WHERE live").fetchone()
    return row and row[0]
