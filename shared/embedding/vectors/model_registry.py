"""Every embedding model that has a table: what it holds, and what it lacks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, LiteralString

from psycopg import Connection, sql

from shared.embedding.models.model_names import LANGUAGES
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.entries.reading import entry_counts
from shared.postgres.fetch_rows import fetch_value
from shared.work import chore_records
from shared.work.chore_records import REEMBED_MODEL

State = Literal["live", "filling", "filled", "kept"]

_COUNTS: LiteralString = """
    SELECT count(*), count(*) FILTER (WHERE chunk = 0) FROM {table}"""


_SKIPPED: LiteralString = """
    SELECT count(*) FROM embedding_skipped WHERE model = %(model)s"""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of one model."""

    model: EmbeddingModel
    state: State
    rows: int
    # How many entries have a vector, and about how many have none.
    entries: int
    missing: int
    languages: Sequence[str]


def list_models(conn: Connection) -> list[ModelStatus]:
    """Return every model with its counts, oldest first; reads its whole table."""
    filling = {
        (one.cursor or {}).get("model")
        for one in chore_records.list_unfinished(conn)
        if one.kind == REEMBED_MODEL
    }
    live = vector_tables.find_live_model(conn)
    whole = entry_counts.count_undeleted(conn)
    found = []
    for model in vector_tables.list_models(conn):
        rows, entries = _counts(conn, model.table_name)
        state: State = "filled" if model.active else "kept"
        if live is not None and model.model == live.model:
            state = "live"
        elif model.model in filling:
            state = "filling"
        languages = LANGUAGES.get(model.model, ())
        missing = max(0, whole - entries - _skipped(conn, model.model))
        found.append(ModelStatus(model, state, rows, entries, missing, languages))
    return found


def missing(conn: Connection, model: str) -> int:
    """Return about how many entries a model would have to embed."""
    found = vector_tables.find_model(conn, model)
    has = 0 if found is None else _counts(conn, found.table_name)[1]
    return max(0, entry_counts.count_undeleted(conn) - has - _skipped(conn, model))


def _skipped(conn: Connection, model: str) -> int:
    return int(fetch_value(conn, _SKIPPED, {"model": model}) or 0)


def _counts(conn: Connection, table: str) -> tuple[int, int]:
    row = conn.execute(sql.SQL(_COUNTS).format(table=sql.Identifier(table))).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
