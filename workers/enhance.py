"""What Celery runs to enrich entries: metadata, and vectors of each model."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import (
    DUPLICATES_STAGE,
    EMBED_ENTRIES,
    EXTRACT_METADATA,
    INDEX_STAGE,
    METADATA_STAGE,
    embed_stage,
)
from shared.due import rows
from shared.due.rows import Claim
from shared.embedding import of_entry
from shared.embedding.vectors import ensure_table
from shared.enrich import metadata
from shared.entries import attachments, reading
from shared.entries.reading import Content
from shared.log import get_logger
from shared.postgres import connection
from workers.context import Context
from workers.task import Ids, attempt, each, task

log = get_logger()

METADATA_BATCH, EMBED_BATCH = 32, 8
# One entry may take many seconds: a batch must end well within its lease's limit.
BATCH_SECONDS = 10.0


@task(EXTRACT_METADATA)
def extract_metadata(ctx: Context, entry_ids: Ids = ()) -> None:
    """Store terms, language and names of what is due; twice equals once."""
    ctx.checkpoint("before_claim", *entry_ids)
    for claims in ctx.batches(METADATA_STAGE, entry_ids, limit=METADATA_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        contents = _Contents(ctx, claims)
        _each_in_time(ctx, claims, functools.partial(_extract, ctx, contents))
        ids = [claim.entry_id for claim in claims]
        ctx.nudge(INDEX_STAGE, ids)
        ctx.nudge(DUPLICATES_STAGE, ids)


@task(EMBED_ENTRIES)
def embed_entries(ctx: Context, model: str, entry_ids: Ids = ()) -> None:
    """Store the vectors of what is due; running it twice equals running it once."""
    if ctx.encoder().model != model:
        log.warning("other_model", wanted=model, loaded=ctx.encoder().model)
        return
    ctx.checkpoint("before_claim", *entry_ids)
    table = ctx.kept(f"table:{model}", functools.partial(_table, ctx))
    for claims in ctx.batches(embed_stage(model), entry_ids, limit=EMBED_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        contents = _Contents(ctx, claims)
        _each_in_time(ctx, claims, functools.partial(_embed, ctx, table, contents))


def _each_in_time(
    ctx: Context, claims: Sequence[Claim], step: Callable[[Claim], object]
) -> None:
    """Run the step for those that there is time for; the others go back untouched."""
    ends = time.monotonic() + BATCH_SECONDS
    for claim in claims:
        if time.monotonic() >= ends:
            with connection(ctx.pool) as conn:
                rows.release(conn, claim.claim)
            return
        each(ctx, [claim], step)


def _extract(ctx: Context, contents: _Contents, claim: Claim) -> None:
    content = contents.of(claim)
    if content is not None and not content.deleted:
        source = ctx.settings.sources.get(content.source)
        expected = source.language if source else None
        files = _texts_of_files(ctx, content)
        found = metadata.extract(content, expected, ctx.facility, files)
        with connection(ctx.pool) as conn:
            learnt = metadata.store(
                conn, content, found, ctx.known, work_class=claim.work_class
            )
            _end(ctx, conn, claim)
        if learnt is not None:
            learnt.remember()
    else:
        with connection(ctx.pool) as conn:
            ids, work_class = [claim.entry_id], claim.work_class
            rows.add(conn, claim.tenant, ids, [INDEX_STAGE], work_class=work_class)
            _end(ctx, conn, claim)
    ctx.checkpoint("after_commit", claim.entry_id)


def _texts_of_files(ctx: Context, content: Content) -> list[str]:
    if not content.has_attachments:
        return []
    with connection(ctx.pool) as conn:
        return attachments.texts(conn, content.tenant, content.entry_id)


def _embed(ctx: Context, table: str, contents: _Contents, claim: Claim) -> None:
    content = contents.of(claim)
    found = None if content is None else of_entry.embed(content, ctx.encoder())
    ctx.checkpoint("after_vector", claim.entry_id)
    with connection(ctx.pool) as conn:
        if content is not None and found is not None:
            of_entry.store(conn, table, content, found)
        _end(ctx, conn, claim)
    ctx.checkpoint("after_commit", claim.entry_id)


def _end(ctx: Context, conn: Connection[TupleRow], claim: Claim) -> None:
    """End the work in the commit of its effect; a lost claim finishes nothing."""
    ctx.checkpoint("before_finish", claim.entry_id)
    rows.finish(conn, claim)
    ctx.checkpoint("before_commit", claim.entry_id)


class _Contents:
    """What the entries of a batch say, read at once, or else one by one.

    One that cannot be read fails in its own step, not its neighbours.
    """

    def __init__(self, ctx: Context, claims: Sequence[Claim]) -> None:
        self._ctx = ctx
        self._found: dict[UUID, Content] = {}
        error = attempt(self._read, claims)
        self._is_read = error is None
        if error is not None:
            log.warning(
                "batch_not_read", code=error.error_code, technical=error.technical
            )

    def of(self, claim: Claim) -> Content | None:
        """Return what the entry says now, or None where it is gone."""
        if not self._is_read:
            self._read([claim])
        return self._found.get(claim.entry_id)

    def _read(self, claims: Sequence[Claim]) -> None:
        by_tenant = sorted(claims, key=lambda claim: claim.tenant)
        with connection(self._ctx.pool) as conn:
            for tenant, group in groupby(by_tenant, key=lambda claim: claim.tenant):
                ids = [claim.entry_id for claim in group]
                self._found |= reading.contents(conn, tenant, ids)


def _table(ctx: Context) -> str:
    encoder = ctx.encoder()
    prefix = ctx.settings.vector_table_prefix
    with connection(ctx.pool) as conn:
        return ensure_table(conn, prefix, encoder.model, encoder.dimension)
