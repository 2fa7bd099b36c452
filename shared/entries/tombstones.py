"""Tombstones: gone from every answer at once, kept until retention or a purge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

# The rows are locked already, or one alone.
_BURY: LiteralString = """
    UPDATE entry
       SET deleted_at = coalesce(%(at)s, now()), delete_reason = %(reason)s,
           doc_version = doc_version + 1, modified_at = now(), missing_since = NULL,
           change = 'deleted', changed_xid = pg_current_xact_id()
     WHERE id = ANY(%(entry_ids)s) AND tenant = %(tenant)s AND deleted_at IS NULL
    RETURNING id"""
_LIVE: LiteralString = """
    SELECT e.id
      FROM entry e
      JOIN unnest(%(external_ids)s::text[]) AS asked (external_id)
        ON e.external_id = asked.external_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND e.deleted_at IS NULL
     ORDER BY e.id
       FOR NO KEY UPDATE OF e"""


def live(
    conn: Connection[TupleRow], tenant: str, source: str, external_ids: Sequence[str]
) -> list[UUID]:
    """Lock and return the living entries of a source with these external ids."""
    values = {"tenant": tenant, "source": source, "external_ids": list(external_ids)}
    return [row[0] for row in conn.execute(_LIVE, values)]


def bury(
    conn: Connection[TupleRow],
    tenant: str,
    entry_ids: Sequence[UUID],
    *,
    reason: str | None,
    at: datetime | None = None,
) -> list[UUID]:
    """Mark entries as deleted and return those that were not; makes no work due."""
    if not entry_ids:
        return []
    values = {
        "tenant": tenant,
        "entry_ids": sorted(entry_ids),
        "reason": reason,
        "at": at,
    }
    return sorted(row[0] for row in conn.execute(_BURY, values))
