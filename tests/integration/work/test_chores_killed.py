"""Chores in real workers: told to end, killed, and with Redis emptied under them."""

import pytest
import redis

from shared.work import chore_records, expiry
from shared.work.chore_records import EXPIRE
from tests.support.faults.measures.size import times
from tests.support.waiting import until
from workers.upkeep import main

# Many enough that whoever is told to end is still amid them.
STEPS, MANY = times(75, 150), times(150, 600)
LEASE = {"LOGCHORD_WORK__LEASE_SECONDS": "3", "LOGCHORD_WORK__LEASE_RENEW_SECONDS": "1"}


@pytest.fixture
def system(database, make_system):
    return make_system(database=database, **LEASE)


def expired_keys(conn, steps: int) -> None:
    conn.execute(
        "INSERT INTO idempotency"
        " (tenant, caller, route, key, body_hash, created_at)"
        " SELECT 'default', 'c', 'r', n::text, '', now() - interval '25 h'"
        "   FROM generate_series(1, %s) AS n",
        (steps * expiry.STEP_ROWS,),
    )


def left(conn) -> int:
    return conn.execute("SELECT count(*) FROM idempotency").fetchone()[0]


def opened(conn):
    chore_records.open_chore(conn, EXPIRE)
    (row,) = chore_records.list_unfinished(conn)
    return row.id


def is_walking(conn, chore) -> bool:
    found = chore_records.find(conn, chore)
    return found.state == "running" and found.done > 0


@pytest.mark.timeout(180)
@pytest.mark.requirement("P12")
def test_sigterm_ends_a_chore_after_its_step_and_the_next_worker_goes_on(
    system, committing
):
    expired_keys(committing, STEPS)
    chore = opened(committing)
    system.start("upkeep", "chores")
    until(lambda: is_walking(committing, chore), within_seconds=60)

    assert system.stop("chores", within_seconds=30) == 0

    found = chore_records.find(committing, chore)
    assert (found.state, found.strikes) == ("queued", 0)
    assert found.done == STEPS * expiry.STEP_ROWS - left(committing)
    assert left(committing) > 0
    system.start("chores")
    until(
        lambda: chore_records.find(committing, chore).state == "done",
        within_seconds=60,
        what=lambda: system.tail("chores"),
    )
    assert chore_records.find(committing, chore).done == STEPS * expiry.STEP_ROWS


@pytest.mark.timeout(240)
@pytest.mark.requirement("P2")
def test_killed_again_and_again_a_chore_ends_with_each_step_done_once(
    system, committing
):
    expired_keys(committing, MANY)
    chore = opened(committing)
    system.start("upkeep")
    for _ in range(3):
        system.start("chores")
        before = chore_records.find(committing, chore).done
        until(
            lambda before=before: chore_records.find(committing, chore).done > before,
            within_seconds=60,
            what=lambda: system.tail("chores"),
        )
        system.kill("chores")
        found = chore_records.find(committing, chore)
        assert found.done == MANY * expiry.STEP_ROWS - left(committing)
    assert left(committing) > 0

    system.start("chores")
    until(
        lambda: chore_records.find(committing, chore).state == "done",
        within_seconds=90,
        what=lambda: system.tail("chores"),
    )
    ended = chore_records.find(committing, chore)
    assert ended.done == MANY * expiry.STEP_ROWS
    assert ended.attempts >= 4
    assert left(committing) == 0


@pytest.mark.timeout(180)
def test_a_worker_and_upkeep_carry_chores_through_a_flush_of_redis(system, committing):
    expired_keys(committing, 20)
    system.bring_up("upkeep", "chores")
    until(
        lambda: (
            committing.execute("SELECT count(*) FROM source_schedule").fetchone()[0]
            == len(main.CHORES)
        ),
        within_seconds=20,
    )
    committing.execute("UPDATE source_schedule SET next_run_at = now()")
    known = "SELECT kind, state FROM maintenance ORDER BY 1"
    with redis.Redis.from_url(system.environment["BROKER_URL"]) as client:
        until(
            lambda: len(committing.execute(known).fetchall()) == len(main.CHORES),
            within_seconds=10,
        )
        client.flushall()

    until(
        lambda: chore_records.list_unfinished(committing) == [],
        within_seconds=30,
        what=lambda: system.tail("chores"),
    )
    assert committing.execute(known).fetchall() == [
        (kind, "done") for kind in sorted(main.CHORES)
    ]
    assert left(committing) == 0
