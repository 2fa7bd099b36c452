"""What is stored of one source, read without the code that has written it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row, dict_row

MOST = 100_000

_ENTRIES: LiteralString = """
    SELECT e.external_id, e.id, e.revision, e.deleted_at IS NOT NULL AS deleted,
           e.entry_time, e.thread_id, e.reply_to, e.tags, e.flags, e.text_flags,
           e.metadata, e.content_hash, r.title, r.text, r.fields
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s
     ORDER BY e.entry_time, e.external_id
     LIMIT %(limit)s"""
_REVISIONS: LiteralString = """
    SELECT count(*)
      FROM revision r
      JOIN entry e ON e.id = r.entry_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s"""
_WORK: LiteralString = """
    SELECT count(*)
      FROM work w
      JOIN entry e ON e.id = w.entry_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s"""
_FINISH_WORK: LiteralString = """
    DELETE FROM work w USING entry e
     WHERE e.id = w.entry_id AND e.tenant = %(tenant)s AND e.source = %(source)s"""
_ASIDE: LiteralString = """
    SELECT q.external_id, q.error, q.raw IS NOT NULL AS has_raw
      FROM quarantine q
     WHERE q.tenant = %(tenant)s AND q.source = %(source)s
     ORDER BY q.external_id, q.id
     LIMIT %(limit)s"""
_LINKS: LiteralString = """
    SELECT e.external_id, l.kind, l.target
      FROM entry_link l
      JOIN entry e ON e.id = l.entry_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s
     ORDER BY e.external_id, l.kind, l.target
     LIMIT %(limit)s"""
_ATTACHMENTS: LiteralString = """
    SELECT e.external_id, a.filename, a.url, a.state, a.position
      FROM attachment a
      JOIN entry e ON e.id = a.entry_id
     WHERE e.tenant = %(tenant)s AND e.source = %(source)s
     ORDER BY e.external_id, a.position, a.id
     LIMIT %(limit)s"""
_EXPIRE: LiteralString = """
    UPDATE source_schedule SET leased_until = clock_timestamp() - interval '1 s'
     WHERE source = %(source)s AND leased_until IS NOT NULL"""
_STANDING: LiteralString = """
    SELECT s.kind, s.cursor, s.failures,
           extract(epoch FROM s.next_run_at - clock_timestamp())::float8 AS wait
      FROM source_schedule s
     WHERE s.source = %(source)s AND s.next_run_at < 'infinity'
     ORDER BY s.kind
     LIMIT %(limit)s"""
_CURSORS: LiteralString = """
    SELECT s.kind, s.cursor FROM source_schedule s
     WHERE s.source = %(source)s
     ORDER BY s.kind
     LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One entry as it stands."""

    external_id: str
    id: UUID
    revision: int
    deleted: bool
    entry_time: datetime
    thread_id: UUID | None
    reply_to: str | None
    tags: list[str]
    flags: list[str]
    text_flags: list[str]
    metadata: dict[str, Any]
    content_hash: bytes
    title: str
    text: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stock:
    """Everything of one source; each question is one statement."""

    conn: Connection
    tenant: str
    source: str

    def entries(self) -> list[StoredEntry]:
        """Return every entry, tombstones too, in the order of their times."""
        with self.conn.cursor(row_factory=class_row(StoredEntry)) as cur:
            return cur.execute(_ENTRIES, self._key).fetchall()

    def live(self) -> set[str]:
        """Return the ids of entries that are not deleted."""
        return {one.external_id for one in self.entries() if not one.deleted}

    def entry(self, external_id: str) -> StoredEntry:
        """Return an entry that must be there."""
        found = {one.external_id: one for one in self.entries()}
        assert external_id in found, f"{external_id} is not stored, {sorted(found)} are"
        return found[external_id]

    def revisions(self) -> int:
        """Return how many revisions there are."""
        return self._count(_REVISIONS)

    def due(self) -> int:
        """Return how many rows of work are due."""
        return self._count(_WORK)

    def finish_work(self) -> None:
        """Take all due work for done."""
        self.conn.execute(_FINISH_WORK, self._key)

    def aside(self) -> list[dict[str, Any]]:
        """Return the quarantined items: id, error, and whether the payload is kept."""
        return self._rows(_ASIDE)

    def links(self) -> set[tuple[str, str, str]]:
        """Return every link: from whom, what kind, to whom."""
        return {tuple(row.values()) for row in self._rows(_LINKS)}

    def attachments(self) -> list[dict[str, Any]]:
        """Return every attachment, in its entry's order."""
        return self._rows(_ATTACHMENTS)

    def expire_leases(self) -> None:
        """Let the lease of a dead holder run out."""
        self.conn.execute(_EXPIRE, self._key)

    def waits(self) -> dict[str, float]:
        """Return in how many seconds each kind of run is due."""
        return {row["kind"]: row["wait"] for row in self._rows(_STANDING)}

    def cursors(self) -> dict[str, Any]:
        """Return the cursor of each kind of run."""
        return {row["kind"]: row["cursor"] for row in self._rows(_CURSORS)}

    @property
    def _key(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "source": self.source, "limit": MOST}

    def _count(self, statement: LiteralString) -> int:
        row = self.conn.execute(statement, self._key).fetchone()
        assert row is not None
        return int(row[0])

    def _rows(self, statement: LiteralString) -> list[dict[str, Any]]:
        with self.conn.cursor(row_factory=dict_row) as cur:
            return cur.execute(statement, self._key).fetchall()
