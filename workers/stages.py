"""What Celery runs of the stages that find things, ours and other people's alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Annotated
from uuid import UUID

from pydantic import Field

from shared.broker import METADATA_STAGE, RUN_STAGE
from shared.due import rows
from shared.due.rows import Claim
from shared.enrich import finding
from shared.enrich.finding import Finding, Last
from shared.entries.reading import Content
from shared.log import get_logger
from shared.postgres import connection
from shared.stages import passing, registered
from shared.stages.registered import Stage
from workers.contents import Contents
from workers.context import Context
from workers.task import BATCH_SECONDS, Ids, attempt, each, settle, task

log = get_logger()

FIND_BATCH = 32

StageName = Annotated[str, Field(max_length=64)]
# What was found in an entry, and the entry; None: it is gone.
Done = tuple[Claim, Content | None, Finding | None]


@task(RUN_STAGE)
def run_stage(ctx: Context, stage: StageName, entry_ids: Ids = ()) -> None:
    """Keep what a stage finds in what is due; running it twice equals running once."""
    if not registered.is_installed(stage):
        # Of another release, or on another machine: it stays due for those.
        log.warning("stage_unknown", stage=stage)
        return
    ctx.checkpoint("before_claim", *entry_ids)
    for claims in ctx.batches(stage, entry_ids, limit=FIND_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        error = attempt(_run, ctx, stage, claims)
        if error is not None:
            # Nobody's own: the stage cannot be run as it is, or the database is away.
            for claim in claims:
                settle(ctx, claim, error)


def _run(ctx: Context, name: str, claims: Sequence[Claim]) -> None:
    stage = registered.finder(name, ctx.settings, ctx.facility)
    if stage is None:
        # Switched off: what was due for it is no work any more.
        with connection(ctx.pool) as conn:
            rows.finish(conn, *claims)
        return
    done = _find(ctx, stage, claims)
    if attempt(_keep, ctx, stage, done) is not None:
        # What harms one of many is found when each is kept by itself.
        by_claim = {one[0].entry_id: one for one in done}
        each(
            ctx,
            [one[0] for one in done],
            lambda claim: _keep(ctx, stage, [by_claim[claim.entry_id]]),
        )
    unsearched = [
        one.entry_id for one, _, found in done if found and not found.is_searched
    ]
    if unsearched:
        ctx.nudge(METADATA_STAGE, unsearched)
    ids = [claim.entry_id for claim, _, _ in done]
    for following in passing.after(ctx.settings, name):
        ctx.nudge(following, ids)
    with connection(ctx.pool) as conn:
        # For whom there was no time.
        rows.release(conn, claims[0].claim)


def _find(ctx: Context, stage: Stage, claims: Sequence[Claim]) -> list[Done]:
    """Run the stage on those that there is time for; a failure is its entry's own."""
    ends = time.monotonic() + BATCH_SECONDS
    contents = Contents(ctx, claims)
    before = _before(ctx, stage, claims)
    done: list[Done] = []

    def step(claim: Claim) -> None:
        content = contents.of(claim)
        found = None
        if content is not None and not content.deleted:
            found = finding.find(stage, content, before.get(claim.entry_id))
        done.append((claim, content, found))

    for claim in claims:
        if time.monotonic() >= ends:
            break
        each(ctx, [claim], step)
    return done


def _before(ctx: Context, stage: Stage, claims: Sequence[Claim]) -> dict[UUID, Last]:
    found: dict[UUID, Last] = {}
    by_tenant = sorted(claims, key=attrgetter("tenant"))
    with connection(ctx.pool) as conn:
        for tenant, group in groupby(by_tenant, key=attrgetter("tenant")):
            ids = [claim.entry_id for claim in group]
            found |= finding.last(conn, tenant, stage.descriptor.name, ids)
    return found


def _keep(ctx: Context, stage: Stage, done: Sequence[Done]) -> None:
    """Store what was found and end its work, all in one commit."""
    in_order = sorted(done, key=lambda one: one[0].entry_id)
    following = passing.after(ctx.settings, stage.descriptor.name)
    with connection(ctx.pool) as conn:
        for claim, content, found in in_order:
            if content is not None and found is not None:
                finding.store(conn, stage, content, found, work_class=claim.work_class)
                rows.add(
                    conn,
                    claim.tenant,
                    [claim.entry_id],
                    following,
                    work_class=claim.work_class,
                )
        ctx.checkpoint("before_finish", *(one[0].entry_id for one in in_order))
        rows.finish(conn, *(one[0] for one in in_order))
        ctx.checkpoint("before_commit", *(one[0].entry_id for one in in_order))
    ctx.checkpoint("after_commit", *(one[0].entry_id for one in in_order))
