"""What Celery runs to write the documents of entries to OpenSearch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from uuid import UUID

from shared.broker import INDEX_ENTRIES, INDEX_STAGE
from shared.due import rows
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
    ctx.checkpoint("before_claim", *entry_ids)
    for claims in ctx.batches(INDEX_STAGE, entry_ids, limit=INDEX_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        error = attempt(_index, ctx, claims)
        if error is None:
            continue
        if len(claims) > 1 and not error.retriable and not is_everybodys(error):
            # It is one entry's: alone, that one costs only itself.
            each(ctx, claims, functools.partial(_index_alone, ctx))
            continue
        for claim in claims:
            settle(ctx, claim, error)


def _index_alone(ctx: Context, claim: Claim) -> None:
    _index(ctx, [claim])


def _index(ctx: Context, claims: Sequence[Claim]) -> None:
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    errors: dict[UUID, OpenSearchError] = {}
    if client is not None:
        errors = filling.fill(client, base, ctx.pool, claims)
    written = [claim for claim in claims if claim.entry_id not in errors]
    ids = [claim.entry_id for claim in written]
    ctx.checkpoint("after_index", *ids)
    with connection(ctx.pool) as conn:
        ctx.checkpoint("before_finish", *ids)
        rows.finish(conn, *written)
        if client is None:
            filling.note_missed(conn)
        ctx.checkpoint("before_commit", *ids)
    ctx.checkpoint("after_commit", *ids)
    for claim in claims:
        if claim.entry_id in errors:
            # What refuses every one of them is away, or full.
            settle(ctx, claim, errors[claim.entry_id], pause=not written)
