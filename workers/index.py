"""What Celery runs to write the documents of entries to OpenSearch."""

from __future__ import annotations

from shared.broker import INDEX_ENTRIES, INDEX_STAGE
from shared.opensearch.portions import Beside
from workers import indexing
from workers.context import Context
from workers.indexing import Answer
from workers.task import Ids, task

# Where few wait, little is lost with a worker; of a backlog each may take more.
INDEX_BATCH, INDEX_MOST = 200, 500


@task(INDEX_ENTRIES)
def index_entries(ctx: Context, entry_ids: Ids = ()) -> None:
    """Write the documents of what is due; without OpenSearch there are none."""
    ctx.checkpoint("before_claim", *entry_ids)
    batches = ctx.batches(INDEX_STAGE, entry_ids, limit=INDEX_BATCH, most=INDEX_MOST)
    with Beside[Answer]() as beside:
        for claims in batches:
            ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
            # Of a backlog the next is claimed and read while this is written: its lease
            # was renewed a moment ago, and holds for longer than a request may take.
            is_of_backlog = len(claims) >= INDEX_BATCH
            indexing.send(ctx, claims, beside, may_be_left=is_of_backlog)
        beside.wait()
