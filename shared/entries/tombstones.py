"""Tombstones: gone from every answer at once, kept until retention or a purge."""

from collections.abc import Mapping, Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

# Why an entry was deleted, as its row keeps it; whoever asks for it may say more.
SAID_BY_SOURCE, ABSENT_AT_SOURCE = "deleted at its source", "no longer at its source"
SUPERSEDED, RETENTION = "superseded", "retention"
SOURCE_REMOVED = "its source was removed"
# What these tombstones stand for came after the entry; its source may still list it.
FINAL = frozenset({SUPERSEDED, RETENTION})
_TOLD: Mapping[str | None, str] = {
    **dict.fromkeys((SAID_BY_SOURCE, ABSENT_AT_SOURCE), "deleted in its logbook"),
    SUPERSEDED: "superseded by another entry",
    RETENTION: "deleted here, as older than what is kept of its source",
    SOURCE_REMOVED: "deleted here, after its source was removed",
}

# The rows are locked already, or one alone.
_BURY: LiteralString = """
    UPDATE entry
       SET deleted_at = now(), delete_reason = %(reason)s,
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
    conn: Connection, tenant: str, source: str, external_ids: Sequence[str]
) -> list[UUID]:
    """Lock and return the living entries of a source with these external ids."""
    values = {"tenant": tenant, "source": source, "external_ids": list(external_ids)}
    return [row[0] for row in conn.execute(_LIVE, values)]


def bury(
    conn: Connection, tenant: str, entry_ids: Sequence[UUID], *, reason: str | None
) -> list[UUID]:
    """Mark entries as deleted and return those that were not; makes no work due."""
    if not entry_ids:
        return []
    values = {"tenant": tenant, "entry_ids": sorted(entry_ids), "reason": reason}
    return sorted(row[0] for row in conn.execute(_BURY, values))


def describe_deletion(reason: str | None) -> str:
    """Return whether the logbook or somebody here deleted an entry: it "was" that."""
    return _TOLD.get(reason, "deleted here, by a request")
