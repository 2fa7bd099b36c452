"""What Celery runs to read sources: each task goes on with one run after the other.

The lease on the row of the schedule says whose run it is; whoever dies leaves the
cursor of the last page that was committed.
"""

import functools
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import UUID

from shared.adapter_contract.contract import SourceIO
from shared.messaging import task_names
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.adapter_io import make_io
from shared.sources.intake.store_page import Stages
from shared.sources.runs import run_steps
from shared.sources.runs.run_steps import Means, RunBudget
from shared.sources.shared_pace import make_shared_pace
from shared.stages import entry_stages
from shared.work import batches, schedule
from shared.work.bulk_turn import Turn
from shared.work.leases import renewed
from shared.work.schedule import DueRun
from workers.runtime import worker_metrics
from workers.runtime.context import Context
from workers.runtime.task import attempt, task

POLLED = (run_records.TAIL, run_records.BACKFILL)
# One child of a worker at a time waits for sources that fail: they would take all of
# them from those that work.
FAILING_TURN = Turn()
# Half of a worker's children at a time walk through histories, which last: the newest
# entries of a source that is added meanwhile do not wait for them.
HISTORY_TURNS = (Turn(), Turn(), Turn())
# And one child of the chores at a time reads sources: one that hangs holds it for up to
# 45 s, and the other chores go on in the other child.
READING_TURN = Turn()
# Longer than a run of such a source takes.
_TURN_SECONDS = 60.0


@task(task_names.POLL_SOURCE)
def poll_source(
    ctx: Context, source: str, kind: str, run_id: UUID | None = None
) -> None:
    """Read what is new in a source, then in whatever else is due, for a while."""
    del run_id  # The row of the schedule says which run is open.
    _go_on(ctx, source, kind, POLLED)


@task(task_names.RECONCILE_SOURCE)
def reconcile_source(ctx: Context, source: str, run_id: UUID | None = None) -> None:
    """Find edits and deletions that a tail cannot see."""
    del run_id
    _go_on_in_turn(ctx, source, run_records.RECONCILE)


@task(task_names.REPARSE_SOURCE)
def reparse_source(ctx: Context, source: str, run_id: UUID | None = None) -> None:
    """Read the kept payloads again with the parser of this release."""
    del run_id
    _go_on_in_turn(ctx, source, run_records.REPARSE)


def _go_on_in_turn(ctx: Context, source: str, kind: str) -> None:
    """Do the due runs of one kind, unless another child is reading a source."""
    if not READING_TURN.take(_TURN_SECONDS):
        # The row stays due, and whoever schedules the sources asks again.
        return
    try:
        _go_on(ctx, source, kind, (kind,))
    finally:
        READING_TURN.give_back()


def _go_on(ctx: Context, source: str, kind: str, kinds: tuple[str, ...]) -> None:
    ends = time.monotonic() + batches.TASK_SECONDS
    is_at_work = True
    while is_at_work:
        is_at_work = False
        for run in _due(ctx, kinds, (source, kind)):
            if time.monotonic() >= ends or batches.is_ending():
                return
            is_at_work |= _take_in_turn(ctx, run, ends)


def _due(ctx: Context, kinds: tuple[str, ...], named: tuple[str, str]) -> list[DueRun]:
    """Return the due runs: sources that fail come last, else the named one first."""
    with connection(ctx.pool) as conn:
        found = [one for one in schedule.list_due_runs(conn) if one.kind in kinds]
    return sorted(
        found, key=lambda one: (one.is_failing, (one.source, one.kind) != named)
    )


def _take_in_turn(ctx: Context, run: DueRun, ends: float) -> bool:
    turns = HISTORY_TURNS if run.kind == run_records.BACKFILL else ()
    try:
        if run.is_failing and not _may_wait():
            return False
        if turns and not any(turn.take(_TURN_SECONDS) for turn in turns):
            return False
        return _take(ctx, run.source, run.kind, ends)
    finally:
        # What has not failed before has taken it, too, if it had to be tried again.
        for turn in (FAILING_TURN, *turns):
            turn.give_back()


def _may_wait() -> bool:
    """Take the turn of those who wait for a source that fails, if it is free."""
    return FAILING_TURN.take(_TURN_SECONDS)


def _take(ctx: Context, source: str, kind: str, ends: float) -> bool:
    ctx.checkpoint("before_claim")
    run = run_steps.take_due_run(_means(ctx), source, kind)
    if run is None:
        # Taken, ended, paused or removed meanwhile: a nudge comes twice at times.
        return False
    ctx.checkpoint("after_claim")
    renew = functools.partial(schedule.renew, run=run.lease)
    with renewed(ctx.pool, renew, ctx.timing):
        error = attempt(run.take_steps, ends)
    run.settle(error)
    worker_metrics.RUNS.labels(source, kind, error.error_code if error else "ok").inc()
    return True


def _means(ctx: Context) -> Means:
    def make() -> Means:
        return Means(
            ctx.settings,
            ctx.pool,
            Stages(
                entry_stages.list_entry_stages(ctx.settings),
                entry_stages.list_deletion_stages(ctx.settings),
            ),
            ctx.nudge,
            functools.partial(_open_io, ctx),
            batches.is_ending,
            worker_metrics.ingested,
        )

    return ctx.kept("ingest", make)


@contextmanager
def _open_io(ctx: Context, wanted: RunBudget) -> Iterator[SourceIO]:
    source = wanted.settings
    is_tail = wanted.kind == run_records.TAIL
    pace = make_shared_pace(ctx.settings, wanted.source, source, is_urgent=is_tail)
    with (
        closing(pace),
        make_io(
            wanted.source,
            source,
            memory=wanted.memory,
            cancelled=batches.is_ending,
            pace=pace,
            ends=wanted.ends,
            may_try_again=_may_wait,
        ) as io,
    ):
        yield io
