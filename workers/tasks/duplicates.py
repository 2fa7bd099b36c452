"""What Celery runs to put entries among their like: copies, and series of machines."""

import functools
from uuid import UUID

from shared.enrich.duplicates import place_entry, unlike_entries
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE
from shared.messaging.task_names import PLACE_ENTRIES
from shared.postgres.pool import connection
from shared.work import due_work
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import Ids, attempt, each, task

PLACE_BATCH = 32


@task(PLACE_ENTRIES)
def place_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Put what is due among its like; running it twice equals running it once."""
    ctx.checkpoint("before_claim", *entry_ids)
    batches = ctx.batches(
        DUPLICATES_STAGE, entry_ids, limit=PLACE_BATCH, gives_way=True
    )
    for claims in batches:
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        for tenant in sorted({claim.tenant for claim in claims}):
            _place_all(ctx, tenant, [one for one in claims if one.tenant == tenant])


def _place_all(ctx: Context, tenant: str, claims: list[Claim]) -> None:
    placed: set[UUID] = set()
    if len(claims) > 1:
        # What harms one of many is found when each is placed by itself.
        attempt(_place_unlike, ctx, tenant, claims, placed)
    rest = [claim for claim in claims if claim.entry_id not in placed]
    each(ctx, rest, functools.partial(_place, ctx))


def _place_unlike(
    ctx: Context, tenant: str, claims: list[Claim], placed: set[UUID]
) -> None:
    with connection(ctx.pool) as conn:
        found = unlike_entries.place(conn, tenant, [claim.entry_id for claim in claims])
        due_work.finish(conn, *(one for one in claims if one.entry_id in found))
    placed |= found
    ctx.checkpoint("after_commit", *placed)


def _place(ctx: Context, claim: Claim) -> None:
    with connection(ctx.pool) as conn:
        placed = place_entry.place(
            conn, claim.tenant, claim.entry_id, work_class=claim.work_class
        )
        if not placed.others:
            due_work.finish(conn, claim)
    if placed.own:
        ctx.nudge(INDEX_STAGE, [claim.entry_id])
    # The work is not done before the others, too, are due to be shown where they are.
    left = placed.others
    while left:
        ctx.checkpoint("after_place", claim.entry_id)
        with connection(ctx.pool) as conn:
            shown = place_entry.show_moved(conn, claim.tenant)
            left = bool(shown)
            if not left:
                due_work.finish(conn, claim)
        ctx.nudge(INDEX_STAGE, shown)
    ctx.checkpoint("after_commit", claim.entry_id)
