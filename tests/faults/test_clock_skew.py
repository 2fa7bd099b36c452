"""F28: workers whose clocks are hours wrong; no lease and no deadline goes by them."""

import os
import signal

import pytest

from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS, N
from tests.support.waiting import until

HOURS = 3600
# So long that something is in hand when that clock jumps.
SLOWLY = {"word": "", "where": "embed", "does": "wait", "seconds": 0.05}
# What each of them believes; one is right until it jumps amid its work.
CLOCKS = {
    "enhance": ("enhance", {"shift_seconds": 2 * HOURS}),
    "enhance-2": ("enhance", {"shift_seconds": -2 * HOURS}),
    "embed": ("embed", {"shift_seconds": 300, "at_signal": True}),
    "search": ("search", {"shift_seconds": 2 * HOURS}),
    "search-2": ("search", {"shift_seconds": -2 * HOURS}),
}
SEARCHES = 20


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F28", "P1", "P2", "I17")
@pytest.mark.timeout(300)
def test_wrong_clocks_of_workers_steal_no_lease_and_expire_no_search(make_system):
    system = make_system(**QUICK_VECTORS)
    system.start("api", "upkeep")
    for name, (command, clock) in CLOCKS.items():
        faulty = {"clock": clock, "poison": [SLOWLY]}
        system.start(name, command=command, faulty=faulty)
    system.wait_ready("enhance", "embed", "search", "upkeep")
    ledger = Ledger(system, "F28")
    answers = []
    held = []

    with system.client() as client:
        share = N // SEARCHES
        for turn in range(SEARCHES):
            ledger.post_many(client, range(turn * share, (turn + 1) * share))
            if turn == SEARCHES // 2:
                held = until(lambda: ledger.in_hand(("embed:",)), within_seconds=20)
                os.kill(system.processes["embed"].pid, signal.SIGUSR2)
            asked = {"query": "beam dump", "mode": "hybrid", "deadline_ms": 5000}
            answers.append(client.post("/v1/search/query", json=asked))
    line = ledger.close(within_seconds=90)

    assert held
    assert [one.status_code for one in answers] == [200] * SEARCHES
    branches = [branch for one in answers for branch in one.json()["branches"]]
    assert {branch["status"] for branch in branches} <= {"ok", "empty", "skipped"}
    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10
