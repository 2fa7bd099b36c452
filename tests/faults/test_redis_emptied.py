"""F10 and F9: Redis forgets everything, or dies and comes back empty."""

from __future__ import annotations

import threading
import time
from itertools import islice

import pytest
import redis

from tests.faults.fix_own_servers import start_again
from tests.faults.ledger import Ledger, Posting
from tests.faults.polling import Polls
from tests.faults.queues import WORK, Queues
from tests.faults.searching import FAULT_INJECTION, Searches
from tests.faults.size import QUICK_VECTORS, SEED, N
from tests.waiting import until

FLUSHES = 3
RESTARTS = 5
DOWN_SECONDS = 1
# The sweeper looks every second for what has been due for one.
NUDGED_SECONDS = 2.0
RECOVERY_SECONDS = 15.0
PROCESSES = ("api", "search", "enhance", "embed", "upkeep")


@pytest.mark.smoke
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


@pytest.mark.slow
@pytest.mark.requirement("F9", "P1", "P2", "P3")
@pytest.mark.timeout(400)
def test_redis_killed_and_back_empty_costs_only_seconds(make_system, own_valkey, reap):
    system = make_system(BROKER_URL=own_valkey.url, **QUICK_VECTORS)
    system.start("api", "enhance", "embed", "upkeep")
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F9")
    key = system.key()
    each_time = N // (RESTARTS + 1)
    slowest_return = 0.0

    for turn in range(RESTARTS):
        with Posting(ledger, key, range(turn * each_time, (turn + 1) * each_time)):
            reached = turn * each_time + each_time // 2
            until(
                lambda reached=reached: len(ledger.accepted) >= reached,
                within_seconds=60,
            )
            own_valkey.stop(crash=True)
            threading.Event().wait(DOWN_SECONDS)
            start_again(own_valkey, reap)
            ledger.note_end()
            back = time.monotonic()
            until(lambda: _waiting_workers(own_valkey.url) == 2, within_seconds=40)
            slowest_return = max(slowest_return, time.monotonic() - back)
    with Posting(ledger, key, range(RESTARTS * each_time, N)):
        pass
    line = ledger.close(within_seconds=60)
    print(f"F9 workers_back_s={slowest_return:.1f}")

    assert (line.accepted, line.lost, line.duplicate_effects) == (N, 0, 0)
    assert ledger.refused == []
    assert line.quarantined == 0
    assert line.extra_runs <= N // 10
    assert line.recovery_s < RECOVERY_SECONDS
    assert slowest_return < RECOVERY_SECONDS


def _waiting_workers(url: str) -> int:
    """Return how many links wait for a message in the broker."""
    with redis.Redis.from_url(url) as client:
        return sum(one["cmd"] == "brpop" for one in client.client_list())
