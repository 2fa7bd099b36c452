"""F2: a whole worker is killed in the middle of its work, again and again."""

from __future__ import annotations

import pytest

from tests.faults.ledger import Ledger
from tests.waiting import until

SEED = 20261121
KILLS = 4
ENTRIES = 60
LEASE_BOUND_SECONDS = 20


@pytest.mark.requirement("F2", "P1", "P2", "P3")
@pytest.mark.timeout(300)
def test_no_entry_is_lost_when_workers_are_killed_in_the_middle_of_their_work(
    make_system, opensearch
):
    system = make_system(opensearch=opensearch.url)
    system.start("api", "enhance", "embed", "upkeep")
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F2", SEED)
    each_time = ENTRIES // KILLS

    with system.client() as client:
        for turn in range(KILLS):
            victim = ("embed", "enhance")[turn % 2]
            stages = ("embed:",) if victim == "embed" else ("metadata", "index")
            for number in range(turn * each_time, (turn + 1) * each_time):
                ledger.post_until_accepted(client, number)
            held = until(
                lambda stages=stages: [
                    row for row in ledger.in_hand() if row[1].startswith(stages)
                ],
                within_seconds=30,
                what=f"{victim} at work\n{system.tail(victim)}",
            )
            system.kill(victim)
            ledger.note_kill(held)
            system.start(victim)

    line = ledger.close(within_seconds=90)

    assert line.accepted == ENTRIES
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert line.quarantined == 0
    assert line.extra_runs <= 3 * ENTRIES // 10
    assert line.recovery_s < LEASE_BOUND_SECONDS
