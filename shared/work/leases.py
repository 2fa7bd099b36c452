"""The lease on a row, the strikes that end it, and the wait before it is tried again.

Due work, chores, the runs of sources and the turns of agents stand by these rules, each
in its own table: what else a statement of theirs writes is its own.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import Connection

from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection

log = get_logger()

LEASE_SECONDS = 15.0
# A death in a batch is none: only what travels alone, or fails by itself, counts. The
# index `work_spent` is of this number alone: another one needs a migration.
MAX_STRIKES = 3
MOST_WAIT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The length of a lease, the interval of its renewal, and its hard limit."""

    lease_seconds: float = LEASE_SECONDS
    renew_seconds: float = 5.0
    hard_seconds: float = 60.0


@contextmanager
def renewed(
    pool: Pool,
    renew: Callable[[Connection], object],
    timing: Timing,
    on_hung: Callable[[], None] | None = None,
) -> Iterator[Callable[[], bool]]:
    """Renew a lease while the block runs, up to its hard limit; yield a check for loss.

    `renew` returns something false once nothing is ours any more.
    """
    stop, lost = threading.Event(), threading.Event()
    ends = time.monotonic() + timing.hard_seconds

    def wait() -> bool:
        left = ends - time.monotonic()
        return stop.wait(max(0.0, min(timing.renew_seconds, left)))

    def keep() -> None:
        while not wait():
            if time.monotonic() >= ends:
                # A hung thread cannot be ended: it loses its claim, and its process.
                log.error("work_hung", seconds=timing.hard_seconds)
                if on_hung is not None:
                    on_hung()
                return
            try:
                with connection(pool) as conn:
                    is_ours = renew(conn)
            except LogchordError as exc:
                # The lease may still hold: the next look tells.
                log.warning("lease_not_renewed", error=exc.error_code)
                continue
            if not is_ours:
                lost.set()
                return

    thread = threading.Thread(target=keep, name="lease", daemon=True)
    thread.start()
    try:
        yield lost.is_set
    finally:
        stop.set()
        thread.join(timeout=timing.renew_seconds)


def draw_wait(
    failures: int,
    *,
    first: float,
    most: float = MOST_WAIT_SECONDS,
    least_share: float = 0.0,
) -> float:
    """Return the seconds to wait: random, up to a bound that doubles each time.

    At least a share of the bound, where tries in a row are to be some time apart.
    """
    bound = min(most, first * 2 ** min(failures, 16))
    # What failed together does not come back together.
    return random.uniform(max(0.1, least_share * bound), bound)  # noqa: S311 - no secret
