"""The registry of embedding models, and the table that each of them fills."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import Connection, sql

from shared.embedding.models.model_names import SIMILARITY_FLOORS
from shared.errors import ConfigurationError
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value

# pgvector indexes no longer halfvec.
MAX_DIMENSION = 4_000
_LONGEST_TABLE_NAME = 54


@dataclass(frozen=True)
class EmbeddingModel:
    """A model in use, and the table that holds its vectors."""

    model: str
    table_name: str
    dimension: int
    # Entries are embedded for it.
    active: bool
    # Searches read it.
    live: bool
    # The workers of searches are to load it, or have.
    warm: bool
    similarity_floor: float
    created_at: datetime


_COLUMNS: LiteralString = """
    SELECT model, table_name, dimension, active, live, warm, similarity_floor,
           created_at
      FROM embedding_model"""
_REGISTERED: LiteralString = _COLUMNS + " WHERE model = %(model)s"
_ACTIVE: LiteralString = _COLUMNS + " WHERE active ORDER BY created_at, model LIMIT 100"
_KNOWN: LiteralString = _COLUMNS + " ORDER BY created_at, model LIMIT 100"
# Where none is live yet a worker of the release before has registered it.
_LIVE: LiteralString = (
    _COLUMNS + " WHERE active ORDER BY live DESC, created_at, model LIMIT 1"
)
# Held until the commit: whoever drops the table waits for what is being stored.
_HOLD: LiteralString = """
    SELECT table_name FROM embedding_model WHERE model = %(model)s FOR KEY SHARE"""

# CREATE TABLE IF NOT EXISTS still fails when two sessions create at once.
_LOCK_REGISTRY: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended('embedding_model', 0))"""

_NAME_TAKEN: LiteralString = """
    SELECT count(*) FROM embedding_model WHERE table_name = %(table)s"""

_REGISTER: LiteralString = """
    INSERT INTO embedding_model
           (model, table_name, dimension, similarity_floor, live, warm)
    SELECT %(model)s, %(table)s, %(dimension)s, %(floor)s, is_first, is_first
      FROM (SELECT NOT EXISTS (SELECT FROM embedding_model WHERE live) AS is_first) f"""
_ACTIVATE: LiteralString = """
    UPDATE embedding_model SET active = true WHERE model = %(model)s AND NOT active"""

_CREATE_TABLE: LiteralString = """
    CREATE TABLE {table} (
        tenant text NOT NULL,
        entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
        revision integer NOT NULL,
        chunk integer NOT NULL,
        start_at integer NOT NULL,
        end_at integer NOT NULL,
        embedding halfvec({dimension}) NOT NULL,
        PRIMARY KEY (entry_id, chunk)
    )"""

# Serves: the nearest chunks to a question. Notes are much alike: with 64 (as pgvector
# has it) some questions found none of their nearest ten, with 256 eight at least, and
# an insert takes 1.1 ms, a fifth of what embedding takes.
CREATE_NEAREST: LiteralString = """
    CREATE INDEX {index} ON {table} USING hnsw (embedding halfvec_cosine_ops)
      WITH (ef_construction = 256)"""

# Serves: the count of a tenant's vectors, which chooses between index and exact scan.
_CREATE_TENANT: LiteralString = """
    CREATE INDEX {index} ON {table} (tenant, entry_id)"""


def find_model(conn: Connection, model: str) -> EmbeddingModel | None:
    """Return a model's row, None if nothing was ever stored for it."""
    found = fetch_all(conn, EmbeddingModel, _REGISTERED, {"model": model}, prepare=True)
    return found[0] if found else None


def list_active_models(conn: Connection) -> list[EmbeddingModel]:
    """Return the models in use, oldest first."""
    return fetch_all(conn, EmbeddingModel, _ACTIVE)


def list_models(conn: Connection) -> list[EmbeddingModel]:
    """Return every model that has a table, oldest first."""
    return fetch_all(conn, EmbeddingModel, _KNOWN)


def find_live_model(conn: Connection) -> EmbeddingModel | None:
    """Return the model that searches read, None before the first vector."""
    return fetch_one(conn, EmbeddingModel, _LIVE)


def hold(conn: Connection, model: str) -> str | None:
    """Return a model's table, which stays until the commit; None if it is gone."""
    return fetch_value(conn, _HOLD, {"model": model})


def activate(conn: Connection, model: str) -> None:
    """Have entries embedded for a model from now on; idempotent."""
    conn.execute(_ACTIVATE, {"model": model})


def lock_registry(conn: Connection) -> None:
    """Be the only one who adds or takes away a model, until the commit."""
    conn.execute(_LOCK_REGISTRY)


def ensure_table(conn: Connection, prefix: str, model: str, dimension: int) -> str:
    """Return the table of a model, made and registered now if new; idempotent."""
    found = find_model(conn, model)
    if found is None:
        lock_registry(conn)
        found = find_model(conn, model)
    if found is None:
        return _create(conn, prefix, model, dimension)
    if found.dimension != dimension:
        message = (
            f"The model {model} now gives vectors of length {dimension}, but its table "
            f"{found.table_name} holds vectors of length {found.dimension}. "
            "Give the new model a name of its own."
        )
        raise ConfigurationError(message, config_key="embedding_model")
    return found.table_name


def _create(conn: Connection, prefix: str, model: str, dimension: int) -> str:
    if not 1 <= dimension <= MAX_DIMENSION:
        message = (
            f"The model {model} gives vectors of length {dimension}; "
            f"the index takes 1 to {MAX_DIMENSION}."
        )
        raise ConfigurationError(message, config_key="embedding_model")
    name = _table_name(conn, prefix, model)
    table = sql.Identifier(name)
    conn.execute(
        sql.SQL(_CREATE_TABLE).format(table=table, dimension=sql.Literal(dimension))
    )
    index = sql.Identifier(f"{name}_nearest")
    conn.execute(sql.SQL(CREATE_NEAREST).format(table=table, index=index))
    index = sql.Identifier(f"{name}_tenant")
    conn.execute(sql.SQL(_CREATE_TENANT).format(table=table, index=index))
    floor = SIMILARITY_FLOORS.get(model, 0.0)
    row = {"model": model, "table": name, "dimension": dimension, "floor": floor}
    conn.execute(_REGISTER, row)
    return name


def _table_name(conn: Connection, prefix: str, model: str) -> str:
    """Return a readable name; a digest tells apart what would read the same."""
    slug = re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")
    name = f"{prefix}_{slug}"
    taken = conn.execute(_NAME_TAKEN, {"table": name}).fetchone()
    if len(name) <= _LONGEST_TABLE_NAME and taken == (0,):
        return name
    digest = hashlib.sha256(model.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_TABLE_NAME - 9]}_{digest}"
