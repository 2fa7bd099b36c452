"""Reads the columns that ranking needs of the entries that an engine names by id."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.rows import class_row

from shared.access import rights
from shared.entries import identity
from shared.entries.reading.filter_sql import MARKS, NARROWED, narrows
from shared.postgres.pool import format_array
from shared.search.jobs.outcome import Candidate


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of an entry that the caller may see and did not exclude."""

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


# The entries that the question's exclusions and filters leave over, visible to the
# caller or hidden. An entry without metadata yet might be an excluded one: a question
# with exclusions does not show it.
def left(whose: LiteralString = rights.SEEN) -> LiteralString:
    """Return the part of a statement that names the entries `e` left over."""
    return f"""
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s
       AND e.deleted_at IS NULL{whose}{NARROWED}
       AND (%(kept)s::jsonb = '[]' OR EXISTS (
            SELECT FROM jsonb_to_recordset(%(kept)s::jsonb)
                        AS k (languages text[], query text)
             WHERE (t.language = ANY (k.languages)
                    OR '*' = ANY (k.languages) AND t.language <> ALL (%(stemmed)s))
               AND CASE WHEN %(fields)s::jsonb = '[]' THEN t.tsv
                        ELSE t.tsv || {MARKS} END @@ k.query::tsquery))"""


_OF_THESE: LiteralString = f"""
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time
      {left()} AND e.id = ANY (%(ids)s::uuid[]) LIMIT 5000"""
# For a question without filters and exclusions: most of the other statement would let
# everything through then, and planning that takes longer than reading.
_PLAINLY_OF_THESE: LiteralString = f"""
    SELECT e.id, e.source, e.external_id, e.revision, e.kind, e.origin, e.entry_time
      FROM entry e
     WHERE e.id = ANY (%(ids)s::uuid[]) AND e.tenant = %(tenant)s
       AND e.deleted_at IS NULL{rights.SEEN}
     LIMIT 5000"""


def load_candidate_rows(
    conn: Connection, params: Mapping[str, Any], ids: Sequence[UUID]
) -> dict[UUID, Columns]:
    """Load the columns of these entries, as far as rights, filters and NOT allow."""
    return fetch_candidate_rows(send_candidate_rows(conn, params, ids)) if ids else {}


def send_candidate_rows(
    conn: Connection, params: Mapping[str, Any], ids: Sequence[UUID]
) -> Cursor[Columns]:
    """Send the statement; its rows are read from the cursor, and may be read later."""
    is_plain = are_plain(params)
    statement = _PLAINLY_OF_THESE if is_plain else _OF_THESE
    cur = conn.cursor(row_factory=class_row(Columns))
    # A statement with filters is planned each time: they differ in what they narrow.
    return cur.execute(
        statement, {"ids": format_array(ids), **params}, prepare=is_plain
    )


def fetch_candidate_rows(rows: Iterable[Columns]) -> dict[UUID, Columns]:
    """Read the columns that were asked for, by entry."""
    return {row.id: row for row in rows}


def are_plain(params: Mapping[str, Any]) -> bool:
    """Tell whether a question has no filters and no exclusions."""
    return params["kept"] == "[]" and not narrows(params)
