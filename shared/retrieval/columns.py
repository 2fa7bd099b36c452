"""What ranking needs to know of the entries that an engine names by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared.entries import identity
from shared.entries.narrowing import MARKS, NARROWED
from shared.jobs.outcome import Candidate


@dataclass(frozen=True, slots=True)
class Columns:
    """One entry that the caller may see and did not exclude."""

    id: UUID
    source: str
    external_id: str
    revision: int
    kind: str
    origin: str
    entry_time: datetime

    def candidate(
        self,
        tenant: str,
        score: float,
        chunk: int = 0,
        span: tuple[int, int] | None = None,
    ) -> Candidate:
        """Return the entry as a hit of a branch."""
        key = identity.doc_key(tenant, self.source, self.external_id)
        return Candidate(
            entry_id=str(self.id),
            chunk_id=identity.chunk_id(key, chunk),
            score=score,
            kind=self.kind,
            source=self.source,
            origin=self.origin,
            entry_time=self.entry_time.isoformat(),
            revision=self.revision,
            span=span,
        )


# Constants put together; every value is a parameter. An entry that metadata has not
# reached yet cannot be told apart from what is excluded: a question that keeps to what
# is not negated does not show it.
LEFT: LiteralString = (
    """
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s
       AND e.deleted_at IS NULL
       AND (%(logbooks)s::text[] IS NULL OR e.logbooks && %(logbooks)s)
       AND (e.readers IS NULL OR e.readers && %(principals)s)
       AND (e.visible_from IS NULL OR e.visible_from <= now())"""
    + NARROWED
    + """
       AND (%(kept)s::jsonb = '[]' OR EXISTS (
            SELECT FROM jsonb_to_recordset(%(kept)s::jsonb)
                        AS k (languages text[], query text)
             WHERE (t.language = ANY (k.languages)
                    OR '*' = ANY (k.languages) AND t.language <> ALL (%(stemmed)s))
               AND CASE WHEN %(fields)s::jsonb = '[]' THEN t.tsv
                        ELSE t.tsv || """
    + MARKS
    + """ END @@ k.query::tsquery))"""
)
SHOWN: LiteralString = (
    """
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time"""
    + LEFT
)

_OF_THESE: LiteralString = SHOWN + " AND e.id = ANY (%(ids)s) LIMIT 5000"


def of(
    conn: Connection[Any], params: Mapping[str, Any], ids: Sequence[UUID]
) -> dict[UUID, Columns]:
    """Return what may be shown of these entries; rights, filters and NOT applied."""
    if not ids:
        return {}
    with conn.cursor(row_factory=class_row(Columns)) as cur:
        rows = cur.execute(_OF_THESE, {"ids": list(ids), **params})
        return {row.id: row for row in rows}


def limit_time(conn: Connection[Any], budget_ms: int) -> None:
    """Bound what follows in this transaction by what is left of the budget."""
    conn.execute("SELECT set_config('statement_timeout', %s, true)", (str(budget_ms),))
