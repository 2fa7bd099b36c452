"""F18 and F19: Postgres crashes, or ends every connection, while entries come in."""

import threading
import time
from typing import LiteralString

import psycopg
import pytest

from tests.support.faults.injected.crashing import crash_while_posting
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import FULL, QUICK_VECTORS, N, times
from tests.support.faults.posters import Posters, Request
from tests.support.waiting import until

CRASHES = times(2, 5)
DOWN_SECONDS = 3
RECOVERY_SECONDS = 15.0
KILLED_SECONDS = 10.0
KILL_EVERY_SECONDS = 0.2
POSTERS = 4

_VICTIMS: LiteralString = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND backend_type = 'client backend'"""
_TERMINATE: LiteralString = """
    SELECT pg_terminate_backend(pid) FROM unnest(%(pids)s::int[]) AS victim (pid)"""
_LEFT: LiteralString = """
    SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%(pids)s::int[])"""

_AGAIN: LiteralString = """
    SELECT entry_id, stage, extract(epoch FROM at), extract(epoch FROM next_at)
      FROM (SELECT entry_id, stage, at, lead(at) OVER (
                   PARTITION BY entry_id, stage, created_at, want ORDER BY at)
                   AS next_at
              FROM claim_log) AS claimed
     WHERE next_at IS NOT NULL"""


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F18", "P1", "P2", "P3")
@pytest.mark.timeout(300)
def test_no_accepted_entry_is_lost_when_postgres_crashes(
    make_system, own_postgres, reap
):
    system = make_system(database=own_postgres.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F18")
    crash_while_posting(
        ledger, own_postgres, reap, crashes=CRASHES, down_seconds=DOWN_SECONDS
    )
    line = ledger.close(within_seconds=120)

    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10
    assert line.recovery_s < RECOVERY_SECONDS
    assert ledger.refused, "no post met the gap: nothing was tried"
    for status, code, told_when in ledger.refused:
        assert status == 503, (status, code)
        assert code in {"database_unavailable", "database_query_retry"}
        assert told_when, code


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F19", "P1", "P2")
@pytest.mark.timeout(300)
def test_killed_connections_cost_at_most_the_requests_in_flight(
    make_system, own_postgres
):
    system = make_system(database=own_postgres.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F19")
    posters = Posters(ledger, least=N)
    kills: list[tuple[float, float]] = []

    with posters.at_work(POSTERS):
        ends = time.monotonic() + KILLED_SECONDS
        pause = threading.Event()
        while time.monotonic() < ends:
            kills.append(_kill_all(own_postgres.url))
            pause.wait(KILL_EVERY_SECONDS)
        ledger.note_end()
    line = ledger.close(within_seconds=120)

    failed = [one for one in posters.requests if one.status >= 500]
    in_flight = sum(_met(kill, one) for kill in kills for one in posters.requests)
    unmet = [one for one in failed if not any(_met(kill, one) for kill in kills)]
    print(f"F19 kills={len(kills)} {in_flight=} failed={len(failed)}")

    assert line.harm == {}
    assert line.accepted >= N
    assert {one.status for one in posters.requests} <= {200, 201, 503}
    assert len(failed) <= in_flight
    assert unmet == [], "a request failed that no kill had met"
    # A claim whose answer a kill took with it waits for its lease, a whole batch: how
    # many these are of few entries is how slow the machine is.
    assert _again_without_kill(own_postgres.url, kills) == []
    if FULL:
        assert line.extra_runs <= line.stage_runs // 10
    assert line.recovery_s < RECOVERY_SECONDS


def _kill_all(url: str) -> tuple[float, float]:
    """End every other connection; return when that began and when it was done."""
    began = time.time()
    with psycopg.connect(url, autocommit=True) as conn:
        victims = [pid for (pid,) in conn.execute(_VICTIMS)]
        conn.execute(_TERMINATE, {"pids": victims})
        until(
            lambda: conn.execute(_LEFT, {"pids": victims}).fetchone() == (0,),
            within_seconds=10,
        )
    return began, time.time()


def _again_without_kill(url: str, kills: list[tuple[float, float]]) -> list[object]:
    """Return what was claimed again although no kill came after the first claim."""
    with psycopg.connect(url) as conn:
        again = conn.execute(_AGAIN).fetchall()
    return [
        (entry_id, stage)
        for entry_id, stage, at, next_at in again
        if not any(kill[1] >= at and kill[0] <= next_at for kill in kills)
    ]


def _met(kill: tuple[float, float], request: Request) -> bool:
    return request.began <= kill[1] and kill[0] <= request.ended
