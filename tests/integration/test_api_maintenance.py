"""Chores over HTTP: for admins of the whole installation alone."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from shared.due import maintenance
from shared.due.maintenance import RECONCILE_INDEX, Progress


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
    maintenance.open_chore(conn, RECONCILE_INDEX)
    # A test before may have left others: a purge has the words counted.
    (found,) = [
        one.id for one in maintenance.unfinished(conn) if one.kind == RECONCILE_INDEX
    ]
    return found


def test_a_chore_tells_how_far_it_has_come(installation, conn):
    chore = opened(conn)
    address = f"/v1/maintenance/{chore}"
    waiting = installation.get(address).json()
    assert waiting["maintenance_id"] == str(chore)
    assert (waiting["state"], waiting["done"], waiting["total"]) == ("queued", 0, None)
    assert waiting["eta_seconds"] is None

    taken = maintenance.claim(conn, RECONCILE_INDEX)
    assert taken is not None
    conn.execute("UPDATE maintenance SET started_at = now() - interval '1 min'")
    maintenance.advance(conn, taken, Progress({"after": "x"}, 100, 400))

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
    taken = maintenance.claim(conn, RECONCILE_INDEX)
    assert taken is not None

    stopped = installation.delete(address)
    again = installation.delete(address)

    assert stopped.status_code == again.status_code == 200
    assert stopped.json()["state"] == "cancelled"
    assert again.json() == stopped.json() == installation.get(address).json()
    with conn.transaction():
        assert not maintenance.hold(conn, taken)


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

    assert maintenance.find(conn, chore).state == "queued"
