"""F26 and F27 for the group: branches, and the state of a fan-out, are lost."""

import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.faults.fan_outs import (
    AT_ONCE,
    FAMILIES,
    LATE_SECONDS,
    MISSING,
    MODULES,
    SEARCHES,
    WORKERS,
    End,
    asking,
    assert_lacks,
    assert_missing_are_told,
    drop_one_of_each,
    fill,
    hold_answers,
    kill_workers,
    nobody_pops,
    reached,
    rounds,
    start_search,
    summed_up,
    were_sent,
)
from tests.support.faults.injected.checkpoints import Orders
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import QUICK_VECTORS, SEED, times
from tests.support.fixtures.system import System
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(600)]

DROPPED_AT_ONCE = 16


@pytest.fixture
def system(make_system: Callable[..., System]) -> System:
    """A logbook on Postgres alone, whose searches need nobody else."""
    made = make_system(**QUICK_VECTORS, LOGCHORD_FAULT_INJECTION="true")
    fill(made)
    return made


@pytest.mark.requirement("F26", "P8", "U05")
def test_searches_end_partial_when_the_worker_dies_that_runs_one_branch(system):
    with asking(system) as asker:
        ends = kill_workers(system, asker, deadline_s=4, set_up_s=3)

    summed_up("F26 worker killed", ends)


@pytest.mark.requirement("F26", "P8")
def test_searches_end_partial_when_the_message_of_one_branch_is_dropped(
    system, make_proxy
):
    cuts = times(4, 20)
    ends: list[End] = []
    link = make_proxy(system.environment["BROKER_URL"])
    queues = Queues(system)
    with asking(system) as asker:
        start_search(system, asker, "search", BROKER_URL=link.url)
        for _ in rounds(cuts):
            # The answer to the pending pop vanishes, and its message with it.
            link.drop_s2c(on=True)
            asker.ask(1, deadline_s=4)
            # A pop is pending for a second; whoever comes later finds none.
            is_popped = reached(
                lambda: bool(asker.in_flight()) and queues.length("search") == 1,
                within_seconds=1,
            )
            link.cut(mended=True)
            some = asker.ends()
            assert some[0].late_s < LATE_SECONDS
            asker.forget()
            if not is_popped:
                continue
            assert_lacks(some[0], "keyword")
            ends += some
            if len(ends) == cuts:
                break
        lacking: list[End] = []
        for _ in range((SEARCHES - cuts) // DROPPED_AT_ONCE):
            with system.frozen("search"):
                until(lambda: nobody_pops(queues), within_seconds=5, what="no pop")
                asker.ask(DROPPED_AT_ONCE, deadline_s=6)
                until(
                    lambda: queues.length("search") == 2 * DROPPED_AT_ONCE,
                    within_seconds=4,
                    what="every message of every search",
                )
                drop_one_of_each(queues)
            lacking += asker.ends()
    missing = Counter(
        family
        for end in lacking
        for family in FAMILIES
        if end.branches[MODULES[family]] in MISSING
    )
    for end in lacking:
        assert_lacks(end, next(f for f in FAMILIES if end.branches[MODULES[f]] != "ok"))

    summed_up("F26 message dropped", ends + lacking)
    assert sum(missing.values()) == len(lacking)
    assert set(missing) == set(FAMILIES)
    queues.close()


@pytest.mark.requirement("F26", "P8")
def test_searches_end_when_the_last_branch_dies_before_it_answers(system, tmp_path):
    ends: list[End] = []
    orders = Orders(tmp_path)
    with asking(system) as asker:
        for _ in rounds(SEARCHES // AT_ONCE):
            start_search(system, asker, *WORKERS, faulty={"checkpoints": str(tmp_path)})
            asker.ask(AT_ONCE, deadline_s=5, fault="branch=semantic;delay_ms=1500")
            is_set_up = hold_answers(asker, orders, AT_ONCE, asked_s=1.4, held_s=3)
            for name in WORKERS:
                system.kill(name)
            some = asker.ends()
            assert max(end.late_s for end in some) < LATE_SECONDS
            if not is_set_up or not were_sent(some):
                continue
            ends += some
            if len(ends) == SEARCHES:
                break

    # Both branches are in, whoever ranks them now.
    assert {tuple(end.branches.values()) for end in ends} == {("ok", "ok")}
    assert {end.state for end in ends} <= {"done", "partial"}
    summed_up("F26 last branch killed", ends)


@pytest.mark.requirement("F27", "P8", "U14")
def test_searches_end_when_the_state_of_the_fan_out_is_flushed(system):
    chance = random.Random(SEED)
    ends: list[End] = []
    with asking(system) as asker:
        start_search(system, asker, *WORKERS)
        while len(ends) < SEARCHES:
            asker.ask(10, deadline_s=2, fault="branch=semantic;delay_ms=600")
            # Before the branches, between the two, or with all of them in.
            moment = time.monotonic() + chance.uniform(0.05, 1.5)
            until(lambda m=moment: time.monotonic() > m, within_seconds=3)
            asker.forget()
            ends += asker.ends()

    summed_up("F27", ends)
    assert_missing_are_told(ends)
