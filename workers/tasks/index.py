"""What Celery runs to write the documents of entries to OpenSearch."""

import functools
import time
from collections.abc import Sequence
from contextlib import closing
from uuid import UUID

from shared.errors import OpenSearchError
from shared.messaging.stage_names import INDEX_STAGE
from shared.messaging.task_names import INDEX_ENTRIES
from shared.opensearch import fill_index
from shared.postgres.pool import connection
from shared.work import due_work
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import (
    BATCH_SECONDS,
    Ids,
    attempt,
    retry_or_quarantine,
    settle_batch,
    task,
)

# Where few wait, little is lost with a worker; of a backlog each may take more.
INDEX_BATCH, INDEX_MOST = 200, 800


@task(INDEX_ENTRIES)
def index_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Write the documents of what is due; without OpenSearch there are none."""
    ctx.checkpoint("before_claim", *entry_ids)
    batches = ctx.batches(INDEX_STAGE, entry_ids, limit=INDEX_BATCH, most=INDEX_MOST)
    for claims in batches:
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        left = {claim.entry_id: claim for claim in claims}
        error = attempt(_index, ctx, left)
        if error is not None:
            failed, step = list(left.values()), functools.partial(_index_alone, ctx)
            settle_batch(ctx, failed, error, step)


def _index_alone(ctx: Context, claim: Claim) -> None:
    _index(ctx, {claim.entry_id: claim})


def _index(ctx: Context, left: dict[UUID, Claim]) -> None:
    """Index the entries of these claims, and drop the claims that have ended."""
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    if client is None:
        _end(ctx, left, list(left))
        return
    ends = time.monotonic() + BATCH_SECONDS
    filled = fill_index.fill(client, base, ctx.pool, list(left.values()), until=ends)
    count = len(left)
    refused: dict[UUID, OpenSearchError] = {}
    # Closed here: who settles what failed writes beside nobody.
    with closing(filled):
        for ids, errors in filled:
            _end(ctx, left, [one for one in ids if one not in errors])
            refused |= errors
    # What refuses every one of them is away, or full.
    is_away = len(left) == count
    for one, error in refused.items():
        retry_or_quarantine(ctx, left.pop(one), error, pause=is_away)
    if left:
        # For whom there was no time.
        with connection(ctx.pool) as conn:
            due_work.release(conn, next(iter(left.values())).claim)


def _end(ctx: Context, left: dict[UUID, Claim], written: Sequence[UUID]) -> None:
    """End the work of entries that were written."""
    ctx.checkpoint("after_index", *written)
    with connection(ctx.pool) as conn:
        ctx.checkpoint("before_finish", *written)
        due_work.finish(conn, *(left[one] for one in written))
        if ctx.opensearch is None:
            fill_index.note_missed(conn)
        ctx.checkpoint("before_commit", *written)
    for one in written:
        del left[one]
    ctx.checkpoint("after_commit", *written)
