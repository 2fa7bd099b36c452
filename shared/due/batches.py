"""Claim batch after batch for a while, each under a lease that a thread renews."""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self
from uuid import UUID

from shared.due import rows
from shared.due.rows import Claim
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres import Pool, connection

log = get_logger()

TASK_SECONDS = 15.0
# One byte that children of a prefork worker share with their parent, which alone is
# told to end.
_ENDING = mmap.mmap(-1, 1)


class Lease:
    """Keeps a batch's rows ours while it is worked on, at most its hard limit."""

    def __init__(
        self,
        pool: Pool,
        claim_id: UUID,
        *,
        every_seconds: float = rows.LEASE_RENEW_SECONDS,
        limit_seconds: float = rows.HARD_LIMIT_SECONDS,
    ) -> None:
        self._pool = pool
        self._claim_id = claim_id
        self._every = every_seconds
        self._ends = time.monotonic() + limit_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> Self:
        """Start renewing."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop renewing."""
        self._stop.set()
        self._thread.join(timeout=rows.LEASE_RENEW_SECONDS)

    def _run(self) -> None:
        # Past the hard limit it lets go, so that a hung thread loses its claim too.
        while not self._stop.wait(self._every) and time.monotonic() < self._ends:
            try:
                with connection(self._pool) as conn:
                    if rows.renew(conn, self._claim_id) == 0:
                        return
            except (DatabaseConnectionError, DatabaseQueryError) as exc:
                log.warning("lease_not_renewed", error=exc.error_code)


def batches(
    pool: Pool,
    stage: str,
    entry_ids: Sequence[UUID],
    *,
    limit: int,
    seconds: float = TASK_SECONDS,
) -> Iterator[list[Claim]]:
    """Yield the rows named, then whatever is due, live before bulk, for a while.

    In a worker that is to end there is no next batch: what is due stays due.
    """
    ends = time.monotonic() + seconds
    named: Sequence[UUID] | None = entry_ids or None
    while time.monotonic() < ends and not _ENDING[0]:
        with connection(pool) as conn:
            taken = rows.claim(conn, stage, limit=limit, entry_ids=named)
        if taken:
            with Lease(pool, taken[0].claim):
                yield taken
        elif named is None:
            return
        else:
            named = None


def claim_no_more() -> None:
    """Let this worker end with the batches it has in hand, in all its processes."""
    _ENDING[0] = 1
