"""What Celery runs to enrich entries: metadata, and vectors of each model."""

import functools

from shared.embedding.models import model_names
from shared.embedding.vectors import vector_tables
from shared.errors import ConfigurationError
from shared.log import get_logger
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.messaging.task_names import EMBED_ENTRIES, EXTRACT_METADATA
from shared.postgres.pool import connection
from shared.stages import entry_stages
from shared.work import stage_pauses
from workers.runtime.context import Context
from workers.runtime.task import Ids, attempt, task
from workers.tasks import metadata_batch, vector_batch

log = get_logger()

# Where few wait, little is lost with a worker; of a backlog each may take more.
METADATA_BATCH, METADATA_MOST = 8, 32
EMBED_BATCH, EMBED_MOST = 8, 32


@task(EXTRACT_METADATA)
def extract_metadata(ctx: Context, entry_ids: Ids = ()) -> None:
    """Store terms, language and names of what is due; twice equals once."""
    ctx.checkpoint("before_claim", *entry_ids)
    batches = ctx.batches(
        METADATA_STAGE, entry_ids, limit=METADATA_BATCH, most=METADATA_MOST
    )
    for claims in batches:
        ids = [claim.entry_id for claim in claims]
        ctx.checkpoint("after_claim", *ids)
        metadata_batch.extract_in_time(ctx, claims)
        for stage in entry_stages.list_next_stages(ctx.settings, METADATA_STAGE):
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
            stage_pauses.pause(conn, embed_stage(model), error)
        log.error("model_not_loaded", model=model, code=error.error_code)
        return
    stage = embed_stage(model)
    batches = ctx.batches(stage, entry_ids, limit=EMBED_BATCH, most=EMBED_MOST)
    for claims in batches:
        ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
        vector_batch.embed_in_time(ctx, model, claims)


def _is_used(ctx: Context, model: str, entry_ids: Ids) -> bool:
    """Tell whether entries are embedded for a model; else pass the nudge on."""
    with connection(ctx.pool) as conn:
        used = [one.model for one in vector_tables.list_active_models(conn)]
    used = used or [model_names.choose_first_model(ctx.settings)]
    if model in used:
        return True
    log.info("model_not_used", model=model, used=used)
    for other in used:
        ctx.nudge(embed_stage(other), entry_ids)
    return False


def _table(ctx: Context, model: str) -> str:
    encoder = ctx.encoder(model)
    said = model_names.told_dimension(model, ctx.settings)
    if said not in (None, encoder.dimension):
        message = (
            f"The model {model} gives vectors of length {encoder.dimension}, and the"
            f" settings say {said}: set `embedding_dimension` right, or leave it out."
        )
        key = "search_modules.semantic.settings.embedding_dimension"
        raise ConfigurationError(message, config_key=key)
    prefix = ctx.settings.vector_table_prefix
    with connection(ctx.pool) as conn:
        return vector_tables.ensure_table(conn, prefix, model, encoder.dimension)
