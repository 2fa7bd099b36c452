"""From one model to another: which one searches read, and the end of one."""

from typing import LiteralString

from psycopg import Connection, sql

from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.errors import ConflictError, InvalidRequestError, NotFoundError
from shared.log import get_logger
from shared.messaging.stage_names import embed_stage
from shared.postgres.fetch_rows import fetch_value
from shared.work import chore_records, stage_pauses
from shared.work.chore_records import REEMBED_MODEL

log = get_logger()

# A search that began before the switch reads the old table for so long at most.
DRAIN_SECONDS = 60.0

_WARM: LiteralString = """
    UPDATE embedding_model SET warm = true WHERE model = %(model)s"""
# The old one stays filled, and its encoders stay loaded: the way back is a switch.
_RETIRE: LiteralString = """
    UPDATE embedding_model SET live = false, retired_at = clock_timestamp()
     WHERE live AND model <> %(model)s"""
_SWITCH: LiteralString = """
    UPDATE embedding_model SET live = true, warm = true, active = true
     WHERE model = %(model)s"""
_IS_DRAINED: LiteralString = """
    SELECT retired_at IS NULL
           OR retired_at < clock_timestamp() - make_interval(secs => %(seconds)s)
      FROM embedding_model WHERE model = %(model)s"""
_FORGET: LiteralString = "DELETE FROM embedding_model WHERE model = %(model)s"
_END_WORK: LiteralString = """
    DELETE FROM work WHERE (entry_id, stage) IN (
        SELECT entry_id, stage FROM work WHERE stage = %(stage)s
         ORDER BY entry_id FOR UPDATE)"""
_END_ASIDE: LiteralString = "DELETE FROM quarantine WHERE stage = %(stage)s"
_END_CUT: LiteralString = "DELETE FROM embedding_cut WHERE model = %(model)s"
_END_INPUT: LiteralString = "DELETE FROM embedding_input WHERE model = %(model)s"
_DROP: LiteralString = "DROP TABLE {table}"


def want_warm(conn: Connection, model: str) -> None:
    """Have all processes that answer searches load a model; idempotent."""
    conn.execute(_WARM, {"model": model})


def switch(conn: Connection, model: str) -> None:
    """Have every search from now on use this model; idempotent."""
    vector_tables.lock_registry(conn)
    conn.execute(_RETIRE, {"model": model})
    conn.execute(_SWITCH, {"model": model})
    log.warning("model_switched", model=model)


def drop(
    conn: Connection, model: str, *, drain_seconds: float = DRAIN_SECONDS
) -> EmbeddingModel:
    """Delete a model's vectors and its work; refuse what searches may still read."""
    vector_tables.lock_registry(conn)
    found = vector_tables.find_model(conn, model)
    if found is None:
        raise NotFoundError(f"No table holds vectors of the model {model!r}.")
    live = vector_tables.find_live_model(conn)
    if live is not None and live.model == model:
        message = f"Searches read the model {model}: activate another one first."
        raise InvalidRequestError(message)
    for chore in chore_records.list_unfinished(conn):
        if chore.kind == REEMBED_MODEL and (chore.cursor or {}).get("model") == model:
            message = f"The model {model} is being filled: stop that first."
            told = {"maintenance_id": str(chore.id)}
            raise ConflictError(message, code="maintenance_in_progress", details=told)
    if not fetch_value(conn, _IS_DRAINED, {"model": model, "seconds": drain_seconds}):
        message = (
            f"Searches that began before the switch may still read {model};"
            f" try again {drain_seconds:.0f} s after it."
        )
        raise ConflictError(message, code="maintenance_in_progress")
    # Its row first: whoever stores a vector holds it, and whoever comes finds none.
    conn.execute(_FORGET, {"model": model})
    # Then the table, which waits for whoever writes entries just now: what they have
    # made due for it is seen after that, and ended.
    conn.execute(sql.SQL(_DROP).format(table=sql.Identifier(found.table_name)))
    stage = embed_stage(model)
    conn.execute(_END_WORK, {"stage": stage})
    conn.execute(_END_ASIDE, {"stage": stage})
    conn.execute(_END_CUT, {"model": model})
    conn.execute(_END_INPUT, {"model": model})
    stage_pauses.resume(conn, stage)
    log.warning("model_dropped", model=model, table=found.table_name)
    return found
