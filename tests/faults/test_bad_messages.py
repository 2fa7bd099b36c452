"""B17: a flood of bad messages, and very large ones, while entries flow."""

import base64
import random

import pytest
import redis

from tests.support.faults.injected.bad_messages import MARK, Writer
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.peak import peak_mib
from tests.support.faults.measures.size import QUICK_VECTORS, SEED, N, times
from tests.support.refused import count_refused
from tests.support.waiting import until

FLOOD = 1000
LARGE_BYTES = 50_000_000
LARGE = times(1, 4)
LIMIT_MIB = 512
REFUSED = '"event": "message_rejected"'


def large(writer: Writer) -> bytes:
    """A message of 50 MB that is well formed, but for its size."""
    filler = base64.b64encode(b"x" * LARGE_BYTES)
    return writer.item().replace(b'"body": "', b'"body": "' + filler, 1)


def flood(writer: Writer, rng: random.Random) -> list[bytes]:
    """As many bad messages, most of them of a task of their own that nobody knows."""
    every = list(writer.bad().values())
    strangers = [writer.item(task=f"{MARK}.{number}") for number in range(FLOOD // 2)]
    found = [*strangers, *rng.choices(every, k=FLOOD - len(strangers))]
    rng.shuffle(found)
    return found


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("B17", "P1", "P2", "P11")
@pytest.mark.timeout(240)
def test_a_flood_of_bad_messages_costs_no_entry_and_little_memory(make_system):
    system = make_system(afresh=True, **QUICK_VECTORS)
    names = ("enhance", "embed", "search")
    system.start("api", "upkeep", *names)
    system.wait_ready("upkeep", *names)
    pids = {name: system.processes[name].pid for name in names}
    ledger = Ledger(system, "B17")
    rng = random.Random(SEED)

    with (
        system.client() as client,
        redis.Redis.from_url(system.environment["BROKER_URL"]) as broker,
    ):
        sent = {}
        for name in names:
            writer = Writer(name)
            messages = flood(writer, rng)
            broker.lpush(writer.queue, *messages)
            for _ in range(LARGE):
                broker.lpush(writer.queue, large(writer))
            sent[name] = {writer.queue: len(messages) + LARGE}
        for number in range(N):
            ledger.post_until_accepted(client, number)
        until(
            lambda: {name: count_refused(system, name) for name in names} == sent,
            within_seconds=60,
            what="every message counted",
        )
        line = ledger.close(within_seconds=60)
    largest = {name: peak_mib(pid) for name, pid in pids.items()}
    lines = {name: system.tail(name, 10**6).count(REFUSED) for name in names}
    print(f"B17 sent={sent} lines={lines} largest_mib={largest}")

    assert line.accepted == N
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert {name: system.processes[name].pid for name in names} == pids
    assert not any(system.has_ended(name) for name in names)
    assert max(largest.values()) < LIMIT_MIB
    # The log tells a kind's first message, its second, its fourth, and so on.
    assert all(0 < number < FLOOD for number in lines.values())
