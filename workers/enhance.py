"""What Celery runs to enrich entries: metadata, and vectors of each model."""

from __future__ import annotations

import functools

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import (
    EMBED_ENTRIES,
    EXTRACT_METADATA,
    INDEX_STAGE,
    METADATA_STAGE,
    embed_stage,
)
from shared.due import rows, stages
from shared.due.rows import Claim
from shared.embedding import names, tables
from shared.enrich import metadata
from shared.entries import attachments
from shared.entries.reading import Content
from shared.errors import ConfigurationError
from shared.log import get_logger
from shared.postgres import connection
from shared.stages import passing
from workers import embedding
from workers.contents import Contents
from workers.context import Context
from workers.task import Ids, attempt, each_in_time, task

log = get_logger()

METADATA_BATCH = 32
# Where few wait, little is lost with a worker; of a backlog each may take more.
EMBED_BATCH, EMBED_MOST = 8, 32


@task(EXTRACT_METADATA)
def extract_metadata(ctx: Context, entry_ids: Ids = ()) -> None:
    """Store terms, language and names of what is due; twice equals once."""
    ctx.checkpoint("before_claim", *entry_ids)
    for claims in ctx.batches(METADATA_STAGE, entry_ids, limit=METADATA_BATCH):
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        contents = Contents(ctx, claims)
        each_in_time(ctx, claims, functools.partial(_extract, ctx, contents))
        ids = [claim.entry_id for claim in claims]
        for stage in passing.after(ctx.settings, METADATA_STAGE):
            ctx.nudge(stage, ids)


@task(EMBED_ENTRIES)
def embed_entries(ctx: Context, model: str, entry_ids: Ids = ()) -> None:
    """Store the vectors of what is due; running it twice equals running it once."""
    if not _is_used(ctx, model, entry_ids):
        return
    ctx.checkpoint("before_claim", *entry_ids)
    error = attempt(ctx.kept, f"table:{model}", functools.partial(_table, ctx, model))
    if error is not None:
        # Without its model the stage rests, and whoever looks is told why.
        with connection(ctx.pool) as conn:
            stages.pause(conn, embed_stage(model), error)
        log.error("model_not_loaded", model=model, code=error.error_code)
        return
    stage = embed_stage(model)
    batches = ctx.batches(stage, entry_ids, limit=EMBED_BATCH, most=EMBED_MOST)
    for claims in batches:
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        embedding.embed_in_time(ctx, model, claims)


def _extract(ctx: Context, contents: Contents, claim: Claim) -> None:
    content = contents.of(claim)
    if content is not None and not content.deleted:
        source = ctx.settings.sources.get(content.source)
        expected = source.language if source else None
        files = _texts_of_files(ctx, content)
        found = metadata.extract(content, expected, ctx.facility, files)
        with connection(ctx.pool) as conn:
            learnt = metadata.store(
                conn,
                content,
                found,
                ctx.known,
                work_class=claim.work_class,
                following=passing.after(ctx.settings, METADATA_STAGE),
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


def _end(ctx: Context, conn: Connection[TupleRow], claim: Claim) -> None:
    """End the work in the commit of its effect; a lost claim finishes nothing."""
    ctx.checkpoint("before_finish", claim.entry_id)
    rows.finish(conn, claim)
    ctx.checkpoint("before_commit", claim.entry_id)


def _is_used(ctx: Context, model: str, entry_ids: Ids) -> bool:
    """Tell whether entries are embedded for a model; else pass the nudge on."""
    with connection(ctx.pool) as conn:
        used = [one.model for one in tables.active(conn)]
    used = used or [names.first(ctx.settings)]
    if model in used:
        return True
    log.info("model_not_used", model=model, used=used)
    for other in used:
        ctx.nudge(embed_stage(other), entry_ids)
    return False


def _table(ctx: Context, model: str) -> str:
    encoder = ctx.encoder(model)
    said = names.told_dimension(model, ctx.settings)
    if said not in (None, encoder.dimension):
        message = (
            f"The model {model} gives vectors of length {encoder.dimension}, and the"
            f" settings say {said}: set `embedding_dimension` right, or leave it out."
        )
        key = "search_modules.semantic.settings.embedding_dimension"
        raise ConfigurationError(message, config_key=key)
    prefix = ctx.settings.vector_table_prefix
    with connection(ctx.pool) as conn:
        return tables.ensure_table(conn, prefix, model, encoder.dimension)
