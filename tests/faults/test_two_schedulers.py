"""F29: two of upkeep, and the one at work is killed again and again."""

import random
from itertools import pairwise

import pytest

from tests.support.faults.measures import lags
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import SEED, N, times
from tests.support.faults.source_polls import SourcePolls
from tests.support.faults.standing_by import TwoOfUpkeep
from tests.support.faults.upstreams import Upstreams, Writer
from tests.support.waiting import until

SOURCES = 4
KILLS = times(3, 8)
PER_SECOND = 12.0
TAKEN_OVER_SECONDS = 5.0
RECOVERY_SECONDS = 15.0
SETTINGS = {
    "poll_interval_seconds": 1,
    # Of a tail alone each request is one run.
    "require_initial_ingest": False,
    "reconcile_every_seconds": 86_400,
    "page_size": 1000,
}


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("F29", "P2")
@pytest.mark.timeout(400)
def test_each_source_is_polled_once_per_due_time_whichever_scheduler_is_killed(
    make_system, tmp_path
):
    with Upstreams(tmp_path, SETTINGS) as upstreams:
        logbooks = [upstreams.open(f"ring-{number}") for number in range(SOURCES)]
        upstreams.configure()
        system = make_system(**upstreams.environment)
        polls = SourcePolls(system)
        ledger = Ledger(system, "F29", vectors=False)
        system.start("api", "ingest", "enhance")
        upkeeps = TwoOfUpkeep(system)
        system.wait_ready("ingest", "enhance", "upkeep")
        taken_over = []

        with Writer(logbooks, random.Random(SEED), PER_SECOND).at_work(least=N):
            for _ in range(KILLS):
                _wait_polled(polls)
                killed = upkeeps.kill()
                ledger.note_end()
                taken_over.append(upkeeps.wait_turned() - killed)
                _wait_polled(polls)
                upkeeps.refill()
        until(
            lambda: not lags.missing(system, logbooks),
            within_seconds=60,
            what="everything that was written",
        )
        upkeeps.stop()
        # What was nudged before still runs.
        until(lambda: polls.quiet_seconds() > 3, within_seconds=60)

        lags.keep(ledger, logbooks)
        line = ledger.close(within_seconds=60)
        found = polls.found()
        pages = sum(_asks_page(each) for one in logbooks for each in one.requests())
        beside = sum(_at_once(one.spans()) for one in logbooks)
        revisions = {one.revisions for one in lags.stored(system).values()}
        print(f"F29 taken_over_s={max(taken_over):.1f} kills={KILLS}")
        print(f"F29 pages={pages} at_once_upstream={beside} {found}")

    assert line.harm == {}
    assert line.accepted >= N
    assert line.extra_runs <= line.accepted // 10
    assert revisions == {1}
    assert (found.twice_due, found.at_once, found.overlapping) == (0, 0, 0)
    assert found.not_done == 0
    # As the logbooks themselves have seen it.
    assert beside == 0
    assert pages == found.begun
    assert max(taken_over) < TAKEN_OVER_SECONDS
    assert found.longest_gap_s < RECOVERY_SECONDS


def _wait_polled(polls: SourcePolls) -> None:
    """Return once every source was polled some times more."""
    wanted = polls.begun() + 3 * SOURCES
    until(lambda: polls.begun() >= wanted, within_seconds=60, what="more polls")


def _asks_page(request: str) -> bool:
    """Tell the page of a run from a question about the zone of the server."""
    return "from=" in request


def _at_once(spans) -> int:
    """Return how many requests came before the one before them was answered."""
    return sum(later[0] < earlier[1] for earlier, later in pairwise(sorted(spans)))
