"""What Celery runs of the stages that find things, ours and other people's alike."""

import functools
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field

from shared.enrich import finding_stage
from shared.enrich.finding_stage import Finding, Last
from shared.entries.reading.read_entries import Content
from shared.log import get_logger
from shared.messaging.stage_names import METADATA_STAGE
from shared.messaging.task_names import RUN_STAGE
from shared.postgres.pool import connection
from shared.stages import entry_stages, installed_stages
from shared.stages.installed_stages import Stage
from shared.work import due_work
from shared.work.backlog import ids_by_tenant
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import Ids, attempt, retry_or_quarantine, task
from workers.tasks import batch_commit
from workers.tasks.batch_commit import EntryResult

log = get_logger()

FIND_BATCH = 32

StageName = Annotated[str, Field(max_length=64)]


@task(RUN_STAGE)
def run_stage(ctx: Context, stage: StageName, entry_ids: Ids = ()) -> None:
    """Keep what a stage finds in what is due; running it twice equals running once."""
    if not installed_stages.is_installed(stage):
        # Another release or machine may have this stage: its work stays due for them.
        log.warning("stage_unknown", stage=stage)
        return
    ctx.checkpoint("before_claim", *entry_ids)
    batches = ctx.batches(stage, entry_ids, limit=FIND_BATCH, gives_way=True)
    for claims in batches:
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        error = attempt(_run, ctx, stage, claims)
        if error is not None:
            # Nobody's own: the stage cannot be run as it is, or the database is away.
            for claim in claims:
                retry_or_quarantine(ctx, claim, error)


def _run(ctx: Context, name: str, claims: Sequence[Claim]) -> None:
    stage = installed_stages.finder(name, ctx.settings, ctx.facility)
    if stage is None:
        # Switched off: what was due for it is no work any more.
        with connection(ctx.pool) as conn:
            due_work.finish(conn, *claims)
        return
    before = _before(ctx, stage, claims)
    unsearched: list[UUID] = []

    def find(claim: Claim, content: Content | None) -> EntryResult[Finding]:
        if content is None or content.deleted:
            return EntryResult(claim)
        found = finding_stage.find(stage, content, before.get(claim.entry_id))
        if not found.is_searched:
            unsearched.append(claim.entry_id)
        return EntryResult(claim, content, found)

    keep = functools.partial(_keep, ctx, stage)
    batch_commit.work(ctx, claims, find, keep, most=FIND_BATCH)
    if unsearched:
        ctx.nudge(METADATA_STAGE, unsearched)
    ids = [claim.entry_id for claim in claims]
    for following in entry_stages.list_next_stages(ctx.settings, name):
        ctx.nudge(following, ids)


def _before(ctx: Context, stage: Stage, claims: Sequence[Claim]) -> dict[UUID, Last]:
    found: dict[UUID, Last] = {}
    named = ((claim.tenant, claim.entry_id) for claim in claims)
    with connection(ctx.pool) as conn:
        for tenant, ids in ids_by_tenant(named):
            found |= finding_stage.last(conn, tenant, stage.descriptor.name, ids)
    return found


def _keep(ctx: Context, stage: Stage, done: Sequence[EntryResult[Finding]]) -> None:
    """Store the findings and end their work, all in one commit."""
    claims = [one.claim for one in done]
    tenant, work_class = claims[0].tenant, claims[0].work_class
    there = batch_commit.there(done)
    following = entry_stages.list_next_stages(ctx.settings, stage.descriptor.name)
    with connection(ctx.pool) as conn:
        finding_stage.store(conn, tenant, stage, there, work_class=work_class)
        ids = [content.entry_id for content, _ in there]
        due_work.add(conn, tenant, ids, following, work_class=work_class)
        batch_commit.end(ctx, conn, claims)
    ctx.checkpoint("after_commit", *(claim.entry_id for claim in claims))
