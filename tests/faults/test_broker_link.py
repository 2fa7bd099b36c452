"""F12-F14: the link to the broker is cut, falls silent, or dies without a word.

A message that was popped when the link went is gone: nothing in the broker knows of it
any more (L1). Only the row of due work and the sweeper bring the entry to its end.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest
import redis

from tests.support.faults.measures import size
from tests.support.faults.measures.ledger import Ledger, Posting
from tests.support.fixtures.fault_proxy import MakeProxy, Proxy
from tests.support.fixtures.system import Factory, System
from tests.support.waiting import until

WORKERS = ("enhance", "embed")
QUEUES = ("enhance.metadata", "enhance.embed")
BACK_SECONDS = 30
RECOVERY_SECONDS = 15
HALF_OPEN_RECOVERY_SECONDS = 30
SILENT_SECONDS = 3
# By then whoever waits longer after each try waits for eight seconds.
AWAY_SECONDS = 13
# In this time the sweeper would have found a row more than once.
SWEEPS_SECONDS = 4


@dataclass
class Cuttable:
    """A system whose workers reach the broker through a proxy, and nobody else does."""

    system: System
    proxy: Proxy
    broker: redis.Redis

    def start(self, *others: str) -> None:
        """Start the API, the workers and whatever else is named."""
        self.system.start("api", *others)
        self.system.start(*WORKERS, BROKER_URL=self.proxy.url)
        self.system.wait_ready(*WORKERS, *others)

    def until_popping(self) -> None:
        """Return once every worker waits for a message, its pop pending."""
        until(
            lambda: (
                sum(one["cmd"] == "brpop" for one in self.broker.client_list())
                >= len(WORKERS)
            ),
            within_seconds=BACK_SECONDS,
            what="workers at their queues",
        )

    def cut_silently(
        self, ledger: Ledger, client: httpx2.Client, number: int
    ) -> tuple[str, bool]:
        """Lose what is popped for one entry; return its id, and whether it was lost."""
        self.until_popping()
        self.proxy.drop_s2c(on=True)
        entry_id = ledger.post_until_accepted(client, number)
        # A pop that ended by itself just now leaves its message for the next one.
        threading.Event().wait(0.5)
        lost = not all(self.broker.llen(queue) for queue in QUEUES)
        self.proxy.cut(mended=True)
        return entry_id, lost


@pytest.fixture
def cuttable(make_system: Factory, make_proxy: MakeProxy) -> Iterator[Cuttable]:
    system = make_system(**size.QUICK_VECTORS)
    url = system.environment["BROKER_URL"]
    with redis.Redis.from_url(url, decode_responses=True) as broker:
        yield Cuttable(system, make_proxy(url), broker)


def drained(ledger: Ledger) -> None:
    """Return once nothing is due."""
    until(lambda: ledger.due() == 0, within_seconds=60, what="due work drained")


def shares(cuts: int) -> list[range]:
    """The numbers posted before each cut; the entries lost at cuts come on top."""
    rest = size.N - cuts
    return [range(rest * n // cuts, rest * (n + 1) // cuts) for n in range(cuts)]


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F13", "P1", "P2")
@pytest.mark.timeout(600)
def test_messages_swallowed_by_a_silent_cut_cost_time_and_no_entry(cuttable):
    cuts = size.times(5, 20)
    cuttable.start("upkeep")
    ledger = Ledger(cuttable.system, "F13")
    swallowed = 0

    with cuttable.system.client() as client:
        for turn, numbers in enumerate(shares(cuts)):
            ledger.post_many(client, numbers)
            if turn % 2 == 0:
                # With nobody at work who would come across it; else amid the flow,
                # where the message that is lost may be that of another entry.
                drained(ledger)
            number = size.N - cuts + turn
            swallowed += cuttable.cut_silently(ledger, client, number)[1]

    line = ledger.close(within_seconds=120)

    print(f"messages swallowed at {swallowed} of {cuts} cuts")
    assert swallowed > 0, "no cut met a pending pop: nothing was tried"
    assert (line.accepted, line.harm) == (size.N, {})
    assert line.slowest_s < RECOVERY_SECONDS


@pytest.mark.smoke
@pytest.mark.patient
@pytest.mark.requirement("F13")
@pytest.mark.timeout(300)
def test_without_the_sweeper_the_last_swallowed_message_is_its_entrys_end(cuttable):
    cuttable.start()
    ledger = Ledger(cuttable.system, "F13-no-sweeper")

    with cuttable.system.client() as client:
        for turn in range(5):
            ledger.post_many(client, range(turn * 100, turn * 100 + 10))
            drained(ledger)
            entry_id, lost = cuttable.cut_silently(ledger, client, turn * 100 + 10)
            if lost:
                break
    cuttable.until_popping()
    threading.Event().wait(SWEEPS_SECONDS)
    line = ledger.count()

    assert lost, "no cut met a pending pop: nothing was tried"
    assert ledger.idle() == {entry_id}
    assert line.lost == 1

    cuttable.system.start("upkeep")
    drained(ledger)


@pytest.mark.slow
@pytest.mark.requirement("F12", "P1", "P2", "P3")
@pytest.mark.timeout(600)
def test_no_entry_is_lost_when_the_broker_link_is_cut_at_random_moments(cuttable):
    cuts = 25
    cuttable.start("upkeep")
    ledger = Ledger(cuttable.system, "F12")

    with Posting(ledger, cuttable.system.key(), range(size.N)) as posting:
        for _ in range(cuts):
            # The gap between two cuts is the fault's own.
            threading.Event().wait(ledger.random.uniform(0.05, 0.8))
            cuttable.proxy.cut()
            if posting.is_at_work():
                ledger.note_end()

    line = ledger.close(within_seconds=120)

    assert ledger.faults, "no cut met a flow of entries"
    assert (line.accepted, line.harm) == (size.N, {})
    assert line.recovery_s < RECOVERY_SECONDS


@pytest.mark.slow
@pytest.mark.requirement("P3")
@pytest.mark.timeout(300)
def test_a_worker_is_back_soon_however_long_its_broker_was_away(cuttable):
    cuttable.start()
    cuttable.until_popping()
    cuttable.proxy.refuse(on=True)
    cuttable.proxy.cut()
    threading.Event().wait(AWAY_SECONDS)
    cuttable.proxy.refuse(on=False)
    began = time.monotonic()
    cuttable.until_popping()

    assert time.monotonic() - began < 3


@pytest.mark.slow
@pytest.mark.requirement("F14", "P3")
@pytest.mark.timeout(300)
def test_a_link_that_dies_without_a_word_is_noticed_and_made_anew(cuttable):
    cuttable.start("upkeep")
    ledger = Ledger(cuttable.system, "F14")
    cuttable.until_popping()
    cuttable.proxy.drop_s2c(on=True)
    with cuttable.system.client() as client:
        ledger.post_many(client, range(size.N))
        threading.Event().wait(SILENT_SECONDS)
        # Each worker has a link of its own to lose.
        ledger.note_end("metadata", "embed:")
        cuttable.proxy.drop_s2c(on=False)

    line = ledger.close(within_seconds=120)

    assert line.accepted == size.N
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert line.recovery_s > 0, "work went on all the time: nothing was tried"
    assert line.recovery_s < HALF_OPEN_RECOVERY_SECONDS
