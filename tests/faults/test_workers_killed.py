"""F1, F2: workers, or children of theirs, are killed in the middle of their work."""

import functools
import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import LiteralString

import psutil
import pytest

from tests.support.faults.measures.ledger import Ledger, Rows
from tests.support.faults.measures.size import EVERY_STAGE, QUICK_VECTORS, N, times
from tests.support.statements import fetch_rows
from tests.support.waiting import until

STAGES = {"enhance": ("metadata",), "embed": ("embed:",)}
# Long enough to be met at work, short enough to keep up with what is posted.
SLOWLY = {
    "enhance": {"word": "", "where": "metadata", "does": "wait", "seconds": 0.02},
    "embed": {"word": "", "where": "embed", "does": "wait", "seconds": 0.02},
}
LEASE_BOUND_SECONDS = 20
_DUE: LiteralString = "SELECT stage, claim FROM work"
# Whoever is killed later than that, amid the leases of the last time, may be away when
# they end: then its start is measured, which depends on the machine.
AGAIN = 4.0
# A batch of a backlog would be many runs too many at once, which is another matter.
FEW = 4


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F2", "P1", "P2", "P3")
@pytest.mark.timeout(600)
def test_no_entry_is_lost_when_workers_are_killed_in_the_middle_of_their_work(
    make_system, opensearch
):
    system = make_system(opensearch=opensearch.url, **QUICK_VECTORS, **EVERY_STAGE)

    def start(name: str) -> None:
        system.start(name, faulty={"poison": [SLOWLY[name]]})

    def kill(name: str) -> None:
        system.kill(name)
        start(name)

    system.start("api", "upkeep")
    for name in STAGES:
        start(name)
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F2")

    flow_and_kill(ledger, list(STAGES), times(4, 20), kill)
    line = ledger.close(within_seconds=90)

    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10
    assert line.recovery_s < LEASE_BOUND_SECONDS


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("F1", "P1", "P2", "P3")
@pytest.mark.timeout(600)
def test_a_killed_child_costs_its_own_work_a_lease_and_the_worker_nothing(
    make_system, opensearch
):
    system = make_system(opensearch=opensearch.url, **QUICK_VECTORS, **EVERY_STAGE)
    system.start("api", "upkeep", "embed")
    system.start("enhance", faulty={"poison": [SLOWLY["enhance"]]})
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F1")
    main = psutil.Process(system.processes["enhance"].pid)
    dead: list[int] = []

    def kill(_: str) -> None:
        child = ledger.random.choice(main.children())
        os.kill(child.pid, signal.SIGKILL)
        dead.append(child.pid)

    flow_and_kill(ledger, ["enhance"], times(4, 20), kill)
    line = ledger.close(within_seconds=90)

    assert (line.accepted, line.harm) == (N, {})
    assert line.extra_runs <= N // 10
    assert line.recovery_s < LEASE_BOUND_SECONDS
    assert not system.has_ended("enhance")
    assert len({child.pid for child in main.children()} - set(dead)) == 2


def flow_and_kill(
    ledger: Ledger, victims: list[str], kills: int, kill: Callable[[str], None]
) -> None:
    """Post one entry after the other, and kill each time when somebody is at work."""
    numbers = iter(range(N))
    lost: set[object] = set()
    killed: dict[str, float] = {}
    with ledger.system.client() as client:
        for turn in range(kills):
            victim = victims[turn % len(victims)]
            share = islice(numbers, N // kills)
            # With what it missed done, it is at work on what comes in just now.
            until(
                functools.partial(is_idle, ledger, victim, lost),
                within_seconds=60,
                what=functools.partial(ledger.system.tail, victim),
            )
            if time.monotonic() - killed.setdefault(victim, time.monotonic()) > AGAIN:
                until(functools.partial(is_taken_up, ledger, lost), within_seconds=60)
                killed[victim] = time.monotonic()
            held = post_until_at_work(ledger, client, share, victim, lost)
            kill(victim)
            ledger.note_kill(held)
            lost |= {claim for _, _, claim in held}
            for number in share:
                ledger.post_until_accepted(client, number)


def post_until_at_work(
    ledger: Ledger, client, share: Iterator[int], victim: str, lost: set[object]
) -> Rows:
    """Post until the victim has something in hand, and return what."""
    for number in share:
        ledger.post_until_accepted(client, number)
        # One after the other: of many that wait it would take more than a few.
        (held,) = until(
            functools.partial(few_in_hand, ledger, victim, lost),
            within_seconds=30,
            what=f"{victim} takes entry {number}",
        )
        if held:
            return held
    message = f"{victim} was never met at work"
    raise AssertionError(message)


def few_in_hand(ledger: Ledger, victim: str, lost: set[object]) -> tuple[Rows] | None:
    """Return what the victim has in hand; None while that is too much, or not yet."""
    in_hand = [one for one in ledger.in_hand() if one[2] not in lost]
    held = [one for one in in_hand if str(one[1]).startswith(STAGES[victim])]
    # A batch of another stage dies with it.
    if held and len(in_hand) <= FEW:
        return (held,)
    # What other stages still hold would be too much beside the next entry, too.
    return ([],) if not in_hand and is_idle(ledger, victim, lost) else None


def is_taken_up(ledger: Ledger, lost: set[object]) -> bool:
    """Tell whether nothing is held by the dead any more."""
    due = fetch_rows(ledger.system.database, _DUE)
    return all(claim not in lost for _, claim in due)


def is_idle(ledger: Ledger, victim: str, lost: set[object]) -> bool:
    """Tell whether nothing of its stages is due but what the dead held."""
    due = fetch_rows(ledger.system.database, _DUE)
    return all(
        claim in lost for stage, claim in due if stage.startswith(STAGES[victim])
    )
