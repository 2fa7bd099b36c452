"""A server that dies again and again in the middle of what is posted."""

import threading
from collections.abc import Callable

from local.server import EmbeddedServer
from tests.support.faults.measures.ledger import Ledger, Posting
from tests.support.faults.measures.size import N
from tests.support.fixtures.own_servers import start_again
from tests.support.fixtures.servers import Reap
from tests.support.waiting import until


def crash_while_posting(
    ledger: Ledger,
    server: EmbeddedServer,
    reap: Reap,
    *,
    crashes: int,
    down_seconds: float,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Post all entries, and between them crash a server so often and start it again."""
    key = ledger.system.key()
    each_time = N // (crashes + 1)
    for turn in range(crashes):
        with Posting(ledger, key, range(turn * each_time, (turn + 1) * each_time)):
            reached = turn * each_time + each_time // 2
            until(
                lambda reached=reached: len(ledger.accepted) >= reached,
                within_seconds=60,
            )
            server.stop(crash=True)
            # The gap itself is the fault: the server stays away this long.
            threading.Event().wait(down_seconds)
            start_again(server, reap)
            ledger.note_end()
            then()
    with Posting(ledger, key, range(crashes * each_time, N)):
        pass
