"""Whether searches by meaning can work, as far as the database tells."""

from dataclasses import dataclass
from typing import LiteralString

from psycopg import Connection

from shared.embedding.vectors import vectors
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.statement_deadline import limit_time

_HAS_PGVECTOR: LiteralString = """
    SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"""
_ENTRIES: LiteralString = """
    SELECT count(*) FROM entry WHERE tenant = %(tenant)s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """How many entries a facility has, and how many of them have vectors."""

    entries: int
    embedded: int

    @property
    def share(self) -> float:
        """Return the share of the entries that have vectors; 1 of none."""
        return min(1.0, self.embedded / self.entries) if self.entries else 1.0


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The preconditions of semantic search, each by itself."""

    has_pgvector: bool
    # The model whose table searches read; None: no entry has had a vector yet.
    model: str | None
    # None: they could not be counted in time.
    counts: EmbeddingCounts | None

    @property
    def is_filled(self) -> bool:
        """Tell whether there are vectors to compare with, if there are entries."""
        if self.counts is None:
            # Not counted in time: where there is a table, nobody knows better.
            return self.model is not None
        return not self.counts.entries or self.counts.embedded > 0


def has_pgvector(conn: Connection) -> bool:
    """Return whether vectors can be stored at all."""
    return bool(fetch_value(conn, _HAS_PGVECTOR))


def count(
    conn: Connection, tenant: str, model: EmbeddingModel | None, most_ms: int
) -> EmbeddingCounts:
    """Count one facility's entries, and those in a model's table; raise if too late."""
    # Each of the two: they read millions of rows, and nobody waits for both.
    limit_time(conn, most_ms // 2)
    embedded = 0
    if model is not None:
        embedded = vectors.count_embedded_entries(conn, model.table_name, tenant)
    return EmbeddingCounts(entries=entries(conn, tenant), embedded=embedded)


def entries(conn: Connection, tenant: str) -> int:
    """Return how many entries a facility has."""
    return int(fetch_value(conn, _ENTRIES, {"tenant": tenant}) or 0)
