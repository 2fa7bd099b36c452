"""What Celery runs to read sources: each task goes on with one run after the other.

The lease on the row of the schedule says whose run it is; whoever dies leaves the
cursor of the last page that was committed.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import UUID

from shared import broker
from shared.due import batches, schedule
from shared.due.batches import Lease
from shared.embedding import stages
from shared.entries.adapter import SourceIO
from shared.postgres import connection
from shared.sources import loading, runs, walk
from shared.sources.intake import Stages
from shared.sources.io import make_io
from shared.sources.shared_pace import SharedPace
from shared.sources.walk import Means, Wanted
from workers import metrics
from workers.context import Context, database_url
from workers.task import attempt, task

POLLED = (runs.TAIL, runs.BACKFILL)


@task(broker.POLL_SOURCE)
def poll_source(
    ctx: Context, source: str, kind: str, run_id: UUID | None = None
) -> None:
    """Read what is new in a source, then in whatever else is due, for a while."""
    del run_id  # The row of the schedule says which run is open.
    _go_on(ctx, source, kind, POLLED)


@task(broker.RECONCILE_SOURCE)
def reconcile_source(ctx: Context, source: str, run_id: UUID | None = None) -> None:
    """Find edits and deletions that a tail cannot see."""
    del run_id
    _go_on(ctx, source, runs.RECONCILE, (runs.RECONCILE,))


@task(broker.REPARSE_SOURCE)
def reparse_source(ctx: Context, source: str, run_id: UUID | None = None) -> None:
    """Read the kept payloads again with the parser of this release."""
    del run_id
    _go_on(ctx, source, runs.REPARSE, (runs.REPARSE,))


def _go_on(ctx: Context, source: str, kind: str, kinds: tuple[str, ...]) -> None:
    ends = time.monotonic() + batches.TASK_SECONDS
    waiting = [(source, kind)]
    while waiting and time.monotonic() < ends and not batches.is_ending():
        for one in waiting:
            if time.monotonic() < ends and not batches.is_ending():
                _take(ctx, *one, ends)
        with connection(ctx.pool) as conn:
            waiting = [one for one in schedule.due_of_sources(conn) if one[1] in kinds]


def _take(ctx: Context, source: str, kind: str, ends: float) -> None:
    ctx.checkpoint("before_claim")
    run = walk.take(_means(ctx), source, kind)
    if run is None:
        # Taken, ended, paused or removed meanwhile: a nudge comes twice at times.
        return
    ctx.checkpoint("after_claim")
    with Lease(ctx.pool, run.claim, ctx.timing, renew=schedule.renew):
        error = attempt(run.take_steps, ends)
    run.settle(error)
    metrics.run_done(source, kind, error)


def _means(ctx: Context) -> Means:
    def make() -> Means:
        return Means(
            ctx.settings,
            ctx.pool,
            Stages(stages.of_entries(ctx.settings), stages.of_deleted(ctx.settings)),
            ctx.nudge,
            functools.partial(_open_io, ctx),
            batches.is_ending,
            metrics.ingested,
        )

    return ctx.kept("ingest", make)  # type: ignore[no-any-return]


@contextmanager
def _open_io(ctx: Context, wanted: Wanted) -> Iterator[SourceIO]:
    source = wanted.settings
    descriptor = loading.adapter_class(source.adapter).descriptor
    pace = SharedPace(
        database_url(ctx.settings),
        source=wanted.source,
        tenant=source.tenant,
        rate_per_second=source.rate_per_second,
        concurrency=min(source.concurrency, descriptor.max_concurrency),
        is_urgent=wanted.kind == runs.TAIL,
    )
    with (
        closing(pace),
        make_io(
            wanted.source,
            source,
            memory=wanted.memory,
            cancelled=batches.is_ending,
            pace=pace,
            ends=wanted.ends,
        ) as io,
    ):
        yield io
