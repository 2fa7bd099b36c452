"""Claim batch after batch for a while, each under a lease that a thread renews."""

import mmap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from shared.postgres.pool import Pool, connection
from shared.work import backlog, due_work, stage_pauses
from shared.work.bulk_turn import Turn
from shared.work.due_work import Claim, ClaimCursor
from shared.work.leases import Timing, renewed

TASK_SECONDS = 15.0
# One byte that children of a prefork worker share with their parent, which alone is
# told to end.
_ENDING = mmap.mmap(-1, 1)
_BULK_TURN = Turn()
# Only one thread of a process at a time works on an entry alone: if the process dies,
# a second such entry would get a strike for the first.
_ALONE = threading.Lock()


@dataclass(frozen=True, slots=True)
class GivesWay:
    """The stages that go first once they have live work, and who is told of it."""

    to: Sequence[str]
    told: Callable[[], None] | None = None

    def now(self, pool: Pool) -> bool:
        """Tell whether the next batch is to wait, and tell those who are to know."""
        with connection(pool) as conn:
            is_waited_for = backlog.any_live(conn, self.to)
        if is_waited_for and self.told is not None:
            self.told()
        return is_waited_for


def claim_batches(
    pool: Pool,
    stage: str,
    entry_ids: Sequence[UUID],
    *,
    limit: int,
    most: int | None = None,
    gives_way: GivesWay | None = None,
    timing: Timing | None = None,
    on_hung: Callable[[], None] | None = None,
) -> Iterator[list[Claim]]:
    """Yield the rows named, then whatever is due, live before bulk, for a while.

    Where `most` is given, a batch after a full one may be twice as large, up to that.
    There is no next one while live work waits of a stage that it gives way to: who is
    told so may come back for what is left, or the sweep nudges for it.
    In a worker that is to end there is no next batch: what is due stays due.
    """
    timing = timing or Timing()
    ends = time.monotonic() + TASK_SECONDS
    named: Sequence[UUID] | None = entry_ids or None
    bound, size = ClaimCursor(), limit
    while time.monotonic() < ends and not _ENDING[0]:
        with_bulk = _BULK_TURN.take(timing.lease_seconds)
        with ExitStack() as alone:
            with connection(pool) as conn:
                with_retried = _ALONE.acquire(blocking=False)
                if with_retried:
                    alone.callback(_ALONE.release)
                taken = due_work.claim(
                    conn,
                    stage,
                    limit=size,
                    entry_ids=named,
                    lease_seconds=timing.lease_seconds,
                    bound=bound,
                    with_bulk=with_bulk,
                    with_retried=with_retried,
                )
            # A batch is of one class: live work does not wait for bulk work beside it.
            is_bulk = bool(taken) and taken[0].work_class == due_work.BULK
            if not is_bulk:
                _BULK_TURN.give_back()
            if taken:
                if not taken[0].alone:
                    alone.close()
                if not is_bulk:
                    _BULK_TURN.note_live()
                # What came with an earlier due time meanwhile is found once a batch is
                # not full any more, or by the next task.
                is_full = len(taken) == size or taken[0].attempts > 1
                # More where many wait, and few where few do.
                size = (
                    limit if most is None or len(taken) < size else min(most, 2 * size)
                )
                bound = (
                    bound.after(taken) if named is None and is_full else ClaimCursor()
                )
                renew = partial(
                    due_work.renew,
                    claim_id=taken[0].claim,
                    lease_seconds=timing.lease_seconds,
                )
                with renewed(pool, renew, timing, on_hung):
                    yield taken
                _BULK_TURN.give_back(used=is_bulk)
                if taken[0].is_probe:
                    with connection(pool) as conn:
                        stage_pauses.probe_succeeded(conn, stage)
                if gives_way is not None and gives_way.now(pool):
                    return
            elif named is None and bound == ClaimCursor():
                return
            else:
                named, bound = None, ClaimCursor()


def claim_no_more() -> None:
    """Let all processes of this worker end after their present batches."""
    _ENDING[0] = 1


def is_ending() -> bool:
    """Tell whether this worker is to end, so that nothing more is begun."""
    return bool(_ENDING[0])
