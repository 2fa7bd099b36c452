"""F11 and F15: Redis takes no more, or hangs; entries are accepted all the same."""

import os
import signal
import threading
import time

import pytest
import redis

from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS
from tests.support.faults.posters import Posters
from tests.support.waiting import until

POSTS = 5000
FULL_BYTES = 20_000_000
P95_SECONDS = 0.5
DRAINED_SECONDS = 60.0
FROZEN_SECONDS = 20.0
RECOVERY_SECONDS = 15.0


@pytest.mark.slow
@pytest.mark.requirement("F11", "P4", "P1")
@pytest.mark.timeout(600)
def test_a_full_redis_refuses_nothing_and_loses_nothing(make_system, own_valkey):
    system = make_system(BROKER_URL=own_valkey.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F11")
    client = redis.Redis.from_url(own_valkey.url)
    client.config_set("maxmemory", FULL_BYTES)
    _fill(client)

    posters = Posters(ledger, most=POSTS)
    with posters.at_work():
        posters.wait()
    refused_writes = int(client.info("stats")["total_error_replies"])
    client.delete("ballast")
    client.config_set("maxmemory", 0)
    ledger.note_end()
    raised, due = time.monotonic(), ledger.due()
    line = ledger.close(within_seconds=300)
    drained = time.monotonic() - raised
    print(
        f"F11 p95_s={posters.p95_seconds:.3f} {refused_writes=} {due=}"
        f" drained_s={drained:.0f}"
    )

    assert posters.refused == []
    assert line.harm == {}
    assert len(posters.requests) == line.accepted == POSTS
    assert posters.p95_seconds < P95_SECONDS
    assert refused_writes > 0, "Redis was never full: nothing was tried"
    assert drained < DRAINED_SECONDS


@pytest.mark.slow
@pytest.mark.requirement("F15", "P4", "P3")
@pytest.mark.timeout(400)
def test_posts_are_accepted_while_redis_is_frozen(make_system, own_valkey):
    system = make_system(BROKER_URL=own_valkey.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F15")
    posters = Posters(ledger)

    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        # One caller: what is asked is how long each post takes, not how many there are.
        with posters.at_work(1):
            threading.Event().wait(FROZEN_SECONDS)
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)
    ledger.note_end()
    thawed, due = time.monotonic(), ledger.due()
    until(lambda: ledger.due() < due, within_seconds=60, what="work going on")
    recovered = time.monotonic() - thawed
    line = ledger.close(within_seconds=120)
    print(
        f"F15 p95_s={posters.p95_seconds:.3f} posts={len(posters.requests)} {due=}"
        f" went_on_s={recovered:.1f}"
    )

    assert posters.refused == []
    assert posters.p95_seconds < P95_SECONDS
    assert due > 0, "there was no backlog: nothing was tried"
    assert line.harm == {}
    assert max(line.recovery_s, recovered) < RECOVERY_SECONDS


def _fill(client: redis.Redis) -> None:
    """Take what memory is left, so that every write is refused."""
    size = 1_000_000
    while size > 100:
        try:
            client.append("ballast", b"x" * size)
        except redis.exceptions.OutOfMemoryError:
            size //= 2
