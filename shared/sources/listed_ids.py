"""The ids that a source lists, compared with what is stored, in flat memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.adapter_contract.contract import IdStamp
from shared.entries.tombstones import FINAL
from shared.postgres.fetch_rows import fetch_value

_ADD: LiteralString = """
    INSERT INTO source_listing (run_id, external_id, stamp)
    SELECT DISTINCT ON (l.external_id) %(run_id)s, l.external_id, l.stamp
      FROM unnest(%(ids)s::text[], %(stamps)s::text[]) AS l (external_id, stamp)
     ORDER BY l.external_id
        ON CONFLICT (run_id, external_id) DO UPDATE SET stamp = excluded.stamp"""
_CLEAR: LiteralString = "DELETE FROM source_listing WHERE run_id = %(run_id)s"
_COUNT: LiteralString = "SELECT count(*) FROM source_listing WHERE run_id = %(run_id)s"
_CHANGED: LiteralString = """
    SELECT l.external_id, l.stamp
      FROM source_listing l
      LEFT JOIN entry e ON e.tenant = %(tenant)s AND e.source = %(source)s
                       AND e.external_id = l.external_id
     WHERE l.run_id = %(run_id)s AND l.external_id > %(after)s
       AND CASE WHEN e.id IS NULL THEN NOT %(only_known)s
                WHEN e.deleted_at IS NOT NULL
                THEN e.delete_reason IS NULL OR e.delete_reason <> ALL (%(final)s)
                ELSE l.stamp IS NOT NULL AND e.stamp IS DISTINCT FROM l.stamp END
       AND NOT EXISTS (SELECT FROM purged p
                        WHERE p.tenant = %(tenant)s AND p.source = %(source)s
                          AND p.external_id = l.external_id)
       -- What could not be read can be no better read as long as it stands so.
       AND NOT EXISTS (SELECT FROM quarantine q
                        WHERE q.tenant = %(tenant)s AND q.source = %(source)s
                          AND q.stage = 'ingest' AND q.external_id = l.external_id
                          AND q.stamp = l.stamp)
     ORDER BY l.external_id
     LIMIT %(limit)s"""
_PRESENT: LiteralString = """
    UPDATE entry e SET missing_since = NULL
      FROM source_listing l
     WHERE l.run_id = %(run_id)s AND e.tenant = %(tenant)s AND e.source = %(source)s
       AND e.external_id = l.external_id AND e.missing_since IS NOT NULL"""
_STORED: LiteralString = """
    SELECT count(*) AS stored,
           count(*) FILTER (WHERE l.run_id IS NULL) AS absent,
           -- What comes within an older entry's answer is in no list of the stretch.
           count(*) FILTER (WHERE l.run_id IS NULL AND NOT (%(nested)s AND EXISTS (
               SELECT FROM entry_link k
                 JOIN entry p ON p.tenant = k.tenant AND p.source = k.source
                             AND p.external_id = k.target
                WHERE k.entry_id = e.id AND k.kind = 'reply'
                  AND p.entry_time < %(from)s))) AS missed
      FROM entry e
      LEFT JOIN source_listing l ON l.run_id = %(run_id)s
                                AND l.external_id = e.external_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND e.deleted_at IS NULL
       AND e.received_at < %(before)s
       AND (%(from)s::timestamptz IS NULL OR e.entry_time >= %(from)s)
       AND (%(to)s::timestamptz IS NULL OR e.entry_time < %(to)s)
       AND NOT (e.external_id ^@ ANY(%(unread)s::text[]))"""
_ABSENT: LiteralString = """
    SELECT e.external_id, e.missing_since IS NOT NULL
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s AND e.deleted_at IS NULL
       AND e.received_at < %(before)s AND e.external_id > %(after)s
       AND (%(from)s::timestamptz IS NULL OR e.entry_time >= %(from)s)
       AND (%(to)s::timestamptz IS NULL OR e.entry_time < %(to)s)
       AND NOT (e.external_id ^@ ANY(%(unread)s::text[]))
       AND NOT EXISTS (SELECT FROM source_listing l
                        WHERE l.run_id = %(run_id)s AND l.external_id = e.external_id)
     ORDER BY e.external_id
     LIMIT %(limit)s"""
_MARK: LiteralString = """
    UPDATE entry SET missing_since = now()
     WHERE tenant = %(tenant)s AND source = %(source)s
       AND external_id = ANY(%(ids)s) AND missing_since IS NULL"""


class StoredCounts(NamedTuple):
    """How many entries are stored, and how many of them a listing lacks."""

    stored: int
    absent: int
    # The absent ones that the listing should have.
    missed: int


class Absent(NamedTuple):
    """A stored entry that the source does not list."""

    external_id: str
    was_absent_before: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing of one run, and the stretch of stored entries that it answers for."""

    run_id: UUID
    tenant: str
    source: str
    # What came in since the listing began is not in it.
    before: datetime
    start: datetime | None = None
    end: datetime | None = None
    # How the ids of what could not be listed begin.
    unread: tuple[str, ...] = ()
    # Whether replies come within the answers of what they reply to, and not in lists.
    nests_replies: bool = False

    @property
    def _values(self) -> dict[str, object]:
        return {
            "run_id": self.run_id,
            "tenant": self.tenant,
            "source": self.source,
            "before": self.before,
            "from": self.start,
            "to": self.end,
            "unread": list(self.unread),
            "nested": self.nests_replies,
        }

    def changed(
        self, conn: Connection, *, after: str, limit: int, only_known: bool = False
    ) -> list[IdStamp]:
        """Return listed ids that are unknown here, or stood otherwise when read."""
        values = {
            **self._values,
            "after": after,
            "limit": limit,
            "only_known": only_known,
            "final": sorted(FINAL),
        }
        return [IdStamp(str(row[0]), row[1]) for row in conn.execute(_CHANGED, values)]

    def note_present(self, conn: Connection) -> None:
        """Forget of every listed entry that it was missed before."""
        conn.execute(_PRESENT, self._values)

    def count_stored(self, conn: Connection) -> StoredCounts:
        """Return how many entries are stored, and how many of them are not listed."""
        row = conn.execute(_STORED, self._values).fetchone()
        return StoredCounts(*row) if row else StoredCounts(0, 0, 0)

    def absent(self, conn: Connection, *, after: str, limit: int) -> list[Absent]:
        """Return stored entries that are not listed, by id."""
        values = {**self._values, "after": after, "limit": limit}
        return [Absent(*row) for row in conn.execute(_ABSENT, values)]

    def mark(self, conn: Connection, external_ids: Sequence[str]) -> None:
        """Mark ids as absent for the first time."""
        conn.execute(_MARK, {**self._values, "ids": sorted(external_ids)})


def add(conn: Connection, run_id: UUID, ids: Sequence[IdStamp]) -> None:
    """Take some listed ids down."""
    values = {
        "run_id": run_id,
        "ids": [one.external_id for one in ids],
        "stamps": [one.stamp for one in ids],
    }
    conn.execute(_ADD, values)


def clear(conn: Connection, run_id: UUID) -> None:
    """Forget a listing."""
    conn.execute(_CLEAR, {"run_id": run_id})


def count(conn: Connection, run_id: UUID) -> int:
    """Return how many ids were listed."""
    return int(fetch_value(conn, _COUNT, {"run_id": run_id}) or 0)
