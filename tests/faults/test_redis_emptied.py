"""F10 and F9: Redis forgets everything, or dies and comes back empty."""

import time
from collections.abc import Callable

import pytest
import redis

from tests.support.faults.injected import emptying
from tests.support.faults.injected.crashing import crash_while_posting
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.queues import WORK, Queues
from tests.support.faults.measures.size import QUICK_VECTORS, N
from tests.support.faults.searching import FAULT_INJECTION
from tests.support.waiting import until

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
    lost_nudges = 0

    def nothing_more(queues: Queues) -> Callable[[], float]:
        """Wait until there are messages to lose."""
        nonlocal lost_nudges
        due = emptying.at_once(FLUSHES)
        until(lambda: queues.length(*WORK) >= due, within_seconds=5)
        lost_nudges += queues.length(*WORK)
        began = time.monotonic()
        return lambda: time.monotonic() - began

    cost = emptying.empty(system, "F10", FLUSHES, nothing_more)
    print(f"F10 {lost_nudges=}")

    emptying.assert_only_time_is_lost(cost, recovery_s=RECOVERY_SECONDS)
    assert cost.nudged_again_s < NUDGED_SECONDS
    assert not [name for name in PROCESSES if system.has_ended(name)]
    assert cost.runs.longest_gap_s < 4


@pytest.mark.slow
@pytest.mark.requirement("F9", "P1", "P2", "P3")
@pytest.mark.timeout(400)
def test_redis_killed_and_back_empty_costs_only_seconds(make_system, own_valkey, reap):
    system = make_system(BROKER_URL=own_valkey.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F9")
    slowest_return = 0.0

    def workers_return() -> None:
        nonlocal slowest_return
        back = time.monotonic()
        until(lambda: _waiting_workers(own_valkey.url) == 2, within_seconds=40)
        slowest_return = max(slowest_return, time.monotonic() - back)

    crash_while_posting(
        ledger,
        own_valkey,
        reap,
        crashes=RESTARTS,
        down_seconds=DOWN_SECONDS,
        then=workers_return,
    )
    line = ledger.close(within_seconds=60)
    print(f"F9 workers_back_s={slowest_return:.1f}")

    assert (line.accepted, line.harm) == (N, {})
    assert ledger.refused == []
    assert line.extra_runs <= N // 10
    assert line.recovery_s < RECOVERY_SECONDS
    assert slowest_return < RECOVERY_SECONDS


def _waiting_workers(url: str) -> int:
    """Return how many links wait for a message in the broker."""
    with redis.Redis.from_url(url) as client:
        return sum(one["cmd"] == "brpop" for one in client.client_list())
