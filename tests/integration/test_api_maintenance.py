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
    (row,) = maintenance.unfinished(conn)
    return row.id


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
