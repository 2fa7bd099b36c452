"""Whether searches by meaning can work, as far as the database tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from shared.embedding import tables, vectors

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import TupleRow

_HAS_PGVECTOR: LiteralString = """
    SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"""
_ENTRIES: LiteralString = """
    SELECT count(*) FROM entry WHERE tenant = %(tenant)s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What searches by meaning stand on, each apart."""

    has_pgvector: bool
    # The model whose table searches read; None: no entry has had a vector yet.
    model: str | None
    entries: int
    embedded: int

    @property
    def is_filled(self) -> bool:
        """Whether there is anything to compare with, where there are entries."""
        return not self.entries or self.embedded > 0

    @property
    def share(self) -> float:
        """Return the share of the entries that have vectors; 1 of none."""
        return min(1.0, self.embedded / self.entries) if self.entries else 1.0


def read(conn: Connection[TupleRow], tenant: str) -> Preconditions:
    """Look at the live model's table, and count one facility's entries."""
    row = conn.execute(_HAS_PGVECTOR).fetchone()
    model = tables.live(conn)
    return Preconditions(
        has_pgvector=bool(row and row[0]),
        model=None if model is None else model.model,
        entries=entries(conn, tenant),
        embedded=(
            0
            if model is None
            else vectors.embedded_entries(conn, model.table_name, tenant)
        ),
    )


def entries(conn: Connection[TupleRow], tenant: str) -> int:
    """Return how many entries a facility has."""
    row = conn.execute(_ENTRIES, {"tenant": tenant}).fetchone()
    return int(row[0]) if row else 0
