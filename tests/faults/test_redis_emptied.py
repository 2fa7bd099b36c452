"""F10 and F9: Redis forgets everything, or dies and comes back empty."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from tests.faults.ledger import Ledger
from tests.faults.polling import Polls
from tests.faults.queues import WORK, Queues
from tests.faults.searching import FAULT_INJECTION, Searches
from tests.faults.size import QUICK_VECTORS, SEED, N
from tests.waiting import until

FLUSHES = 3
# The sweeper looks every second for what has been due for one.
NUDGED_SECONDS = 2.0
RECOVERY_SECONDS = 15.0
PROCESSES = ("api", "search", "enhance", "embed", "upkeep")


@pytest.mark.requirement("F10", "P1", "P2", "P8")
@pytest.mark.timeout(300)
def test_redis_may_be_emptied_at_any_moment_and_only_time_is_lost(make_system):
    system = make_system(**QUICK_VECTORS, **FAULT_INJECTION)
    system.start(*PROCESSES)
    system.wait_ready("search", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F10", SEED)
    queues, polls = Queues(system), Polls(system)
    each_time = N // (2 * FLUSHES)
    numbers = iter(range(N))
    lost_nudges, slowest_nudge = 0, 0.0

    def post(client, count: int) -> None:
        for number in islice(numbers, count):
            ledger.post_until_accepted(client, number)

    with system.client() as client, Searches(system) as searches:
        for _ in range(FLUSHES):
            post(client, each_time)
            searches.ask()
            # What comes in while nobody works certainly has messages to lose.
            with system.frozen("enhance", "embed"):
                post(client, each_time)
                until(lambda: queues.length(*WORK) >= each_time, within_seconds=5)
                lost_nudges += queues.length(*WORK)
                queues.empty()
                ledger.note_end()
                emptied = time.monotonic()
                until(queues.swept, within_seconds=20)
                slowest_nudge = max(slowest_nudge, time.monotonic() - emptied)
        post(client, N)
        line = ledger.close(within_seconds=60)
        ends = searches.ends()
    runs = polls.runs()
    print(f"F10 {lost_nudges=} nudged_again_s={slowest_nudge:.1f} jobs={ends} {runs}")

    assert line.accepted == N
    assert (line.lost, line.duplicate_effects, line.quarantined) == (0, 0, 0)
    assert line.extra_runs <= N // 10
    assert slowest_nudge < NUDGED_SECONDS
    assert line.recovery_s < RECOVERY_SECONDS
    assert "stuck" not in ends
    assert not [name for name in PROCESSES if system.has_ended(name)]
    assert runs.at_once == 0
    assert runs.longest_gap_s < 4
