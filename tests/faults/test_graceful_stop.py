"""F4: a worker is told to end while a batch of ten seconds is in its hands."""

import signal
import time
from typing import LiteralString

import psycopg
import pytest

from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import EVERY_STAGE, QUICK_VECTORS, times
from tests.support.waiting import until

# A whole batch is nearly the ten seconds that it may take.
SLOWLY = {
    "enhance": {"word": "", "where": "metadata", "does": "wait", "seconds": 0.28},
    "embed": {"word": "", "where": "embed", "does": "wait", "seconds": 1.2},
}
STAGES = {"enhance": ("metadata",), "embed": ("embed:",)}
ENTRIES = times(100, 1000)
WARM_SECONDS, COLD_SECONDS, LEASE_BOUND_SECONDS = 30, 10, 20

_LEFT: LiteralString = """
    SELECT count(claim), count(*) FROM work WHERE stage LIKE %(stage)s || '%%'"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(params=["enhance", "embed"])
def at_work(request, make_system, opensearch):
    """A ledger, and a worker of each pool with a batch in hand."""
    name = request.param
    system = make_system(opensearch=opensearch.url, **QUICK_VECTORS, **EVERY_STAGE)
    system.start("api", "upkeep", *(set(STAGES) - {name}))
    system.start(name, faulty={"poison": [SLOWLY[name]]})
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, f"F4 {name}")
    with system.client() as client:
        ledger.post_many(client, range(ENTRIES))
    until(lambda: ledger.in_hand(STAGES[name]), within_seconds=30)
    return ledger, name


@pytest.mark.requirement("F4", "P12", "P1")
def test_sigterm_lets_a_worker_finish_its_batch_and_leave_no_claim(at_work):
    ledger, name = at_work

    began = time.monotonic()
    status = ledger.system.stop(name, within_seconds=WARM_SECONDS)
    took = time.monotonic() - began

    with psycopg.connect(ledger.system.database) as conn:
        found = conn.execute(_LEFT, {"stage": STAGES[name][0]}).fetchone()
    claimed, left = found
    ledger.system.start(name)
    line = ledger.close(within_seconds=90)
    print(f"F4 {name} SIGTERM exit_s={took:.1f} status={status} left={left}")
    assert status == 0
    assert took < WARM_SECONDS
    assert claimed == 0
    assert left > 0, "it was not stopped amid its work"
    assert line.extra_runs == 0
    assert (line.lost, line.drift) == (0, 0)
    assert line.duplicate_effects == 0


@pytest.mark.requirement("F4", "P12", "P1")
def test_sigquit_ends_a_worker_at_once_and_its_leases_are_taken_up(at_work):
    ledger, name = at_work
    process = ledger.system.processes[name]
    held = ledger.in_hand(STAGES[name])

    began = time.monotonic()
    process.send_signal(signal.SIGQUIT)
    process.wait(timeout=WARM_SECONDS)
    took = time.monotonic() - began

    ledger.note_kill(held)
    ledger.system.start(name)
    line = ledger.close(within_seconds=120)
    print(f"F4 {name} SIGQUIT exit_s={took:.1f} held={len(held)}")
    assert took < COLD_SECONDS
    assert (line.accepted, line.harm) == (ENTRIES, {})
    assert line.recovery_s < LEASE_BOUND_SECONDS
