"""What Celery runs to write the documents of entries to OpenSearch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from uuid import UUID

from shared.broker import INDEX_ENTRIES, INDEX_STAGE
from shared.due import quarantine, rows
from shared.due.batches import batches
from shared.due.rows import Claim
from shared.errors import OpenSearchError
from shared.opensearch import filling
from shared.postgres import connection
from workers.context import Context
from workers.task import Ids, attempt, each, is_everybodys, settle, task

INDEX_BATCH = 200


@task(INDEX_ENTRIES)
def index_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Write the documents of what is due; without OpenSearch there are none."""
    ctx.checkpoint("before_claim")
    for claims in batches(ctx.pool, INDEX_STAGE, entry_ids, limit=INDEX_BATCH):
        ctx.checkpoint("after_claim")
        error = attempt(_index, ctx, claims)
        if error is None:
            continue
        if len(claims) > 1 and not error.retriable and not is_everybodys(error):
            # It is one entry's: alone, that one costs only itself.
            each(ctx, claims, functools.partial(_index_alone, ctx))
            continue
        for claim in claims:
            settle(ctx, claim, error)
        # What stopped a whole batch would stop the next one too.
        return


def _index_alone(ctx: Context, claim: Claim) -> None:
    _index(ctx, [claim])


def _index(ctx: Context, claims: Sequence[Claim]) -> None:
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    errors: dict[UUID, OpenSearchError] = {}
    if client is not None:
        errors = filling.fill(client, base, ctx.pool, claims)
    ctx.checkpoint("after_index")
    with connection(ctx.pool) as conn:
        for claim in sorted(claims, key=lambda claim: claim.entry_id):
            if claim.entry_id not in errors:
                ctx.checkpoint("before_finish")
                if rows.finish(conn, claim):
                    quarantine.clear(conn, claim)
        if client is None:
            filling.note_missed(conn)
        ctx.checkpoint("before_commit")
    ctx.checkpoint("after_commit")
    for claim in claims:
        if claim.entry_id in errors:
            settle(ctx, claim, errors[claim.entry_id])
