"""The lease of a turn, renewed for as long as somebody works for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg import Connection

from shared.agents import turn_rows
from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection

log = get_logger()


@contextmanager
def renewed(
    pool: Pool, renew: Callable[[Connection], bool]
) -> Iterator[Callable[[], bool]]:
    """Renew a lease while the block runs; yield a check for its end.

    `renew` tells whether the turn is still ours.
    """
    stop, over = threading.Event(), threading.Event()

    def keep() -> None:
        while not stop.wait(turn_rows.RENEW_SECONDS):
            try:
                with connection(pool) as conn:
                    is_ours = renew(conn)
            except LogchordError as exc:
                # The lease may still hold: the next look tells.
                log.warning("turn_not_renewed", code=exc.error_code)
                continue
            if not is_ours:
                over.set()

    thread = threading.Thread(target=keep, name="agent turn", daemon=True)
    thread.start()
    try:
        yield over.is_set
    finally:
        stop.set()
        thread.join()
