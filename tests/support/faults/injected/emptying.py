"""Redis emptied again and again while nobody works; only time may be lost by it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import httpx2

from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import N
from tests.support.faults.polling import Polls, Runs
from tests.support.faults.searching import Searches
from tests.support.fixtures.fault_ledger import Line
from tests.support.fixtures.system import System
from tests.support.waiting import until


@dataclass(frozen=True)
class Cost:
    """What it came to, over all turns."""

    line: Line
    # How the searches ended that were in flight.
    ends: dict[str, int]
    runs: Runs
    # From the fault to the first nudge of the sweeper.
    nudged_again_s: float


def at_once(turns: int) -> int:
    """Return how many entries are due, at least, each time Redis is emptied."""
    return N // (2 * turns)


def empty(
    system: System,
    name: str,
    turns: int,
    fault: Callable[[Queues], Callable[[], float]],
    after: Callable[[], None] = lambda: None,
) -> Cost:
    """Empty Redis so often just after a fault, which returns what tells its age."""
    system.wait_ready("search", "enhance", "embed", "upkeep")
    ledger, queues, polls = Ledger(system, name), Queues(system), Polls(system)
    numbers = iter(range(N))
    nudged_again_s = 0.0

    def post(client: httpx2.Client, several: int) -> None:
        for number in islice(numbers, several):
            ledger.post_until_accepted(client, number)

    with system.client() as client, Searches(system) as searches:
        for _ in range(turns):
            post(client, at_once(turns))
            searches.ask()
            # What comes in while nobody works is certainly due, and has messages.
            with system.frozen("enhance", "embed"):
                post(client, at_once(turns))
                age = fault(queues)
                queues.empty()
                ledger.note_end()
                until(queues.swept, within_seconds=20, what="a nudge of the sweeper")
                nudged_again_s = max(nudged_again_s, age())
            after()
        post(client, N)
        line = ledger.close(within_seconds=60)
        ends = searches.ends()
    cost = Cost(line, ends, polls.runs(), nudged_again_s)
    print(f"{name} {nudged_again_s=:.1f} jobs={ends} {cost.runs}")
    return cost


def assert_only_time_is_lost(cost: Cost, *, recovery_s: float) -> None:
    """Hold what either way to empty Redis promises."""
    line = cost.line
    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10, line
    assert line.recovery_s < recovery_s, line
    assert "stuck" not in cost.ends, cost.ends
    # Of the schedule, never two at once.
    assert cost.runs.at_once == 0, cost.runs
