"""Entries as they are read: one, a listing, or what a stage of work needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared import entry_fields
from shared.access import rights
from shared.access.scope import Scope
from shared.entries import tombstones
from shared.entries.draft import FUTURE
from shared.entries.reading.filter_sql import ANYTHING, narrowed_by
from shared.entry_fields import EntryFields
from shared.errors import GoneError, NotFoundError
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value
from shared.times.rfc3339 import timestamp

Sort = Literal["newest", "oldest", "received"]

# A listing shows how a text begins: a hundred entries of a megabyte, whole, take the
# API eight hundred.
_WHOLE: LiteralString = """
    SELECT r.text,"""
_BRIEF: LiteralString = """
    SELECT left(r.text, 500) AS text,"""
_CURRENT: LiteralString = (
    """
           char_length(r.text) AS text_chars,
           e.id AS entry_id, e.tenant, e.source, e.external_id, e.url, e.kind,
           e.logbooks, e.authors, r.title, r.text_format, e.entry_time,
           e.event_time, e.modified_at, e.received_at, """
    + entry_fields.columns("e.")
    + """, e.tags, e.metadata, coalesce(m.entities, '[]'::jsonb) AS entities,
           """
    + rights.THREAD
    + """ AS thread_id, e.reply_to, m.language, e.revision, e.doc_version,
           e.content_hash, e.deleted_at, e.delete_reason, e.text_flags, e.flags,
           e.origin, e.readers, e.visible_from,
           CASE WHEN m.revision = e.revision THEN m.flags ELSE '{}' END
           || CASE WHEN EXISTS (
                  SELECT FROM embedding_cut c
                   WHERE c.entry_id = e.id AND c.tenant = %(tenant)s
                     AND c.revision = e.revision
                     AND c.model IN (SELECT l.model FROM embedding_model l
                                      WHERE l.live))
              THEN '{vectors_cut}'::text[] ELSE '{}' END AS read_flags,
           (SELECT coalesce(jsonb_object_agg(w.stage, CASE
                       WHEN w.leased_until > now() THEN 'leased' ELSE 'due' END), '{}')
              FROM work w WHERE w.entry_id = e.id) AS due_stages,
           (SELECT coalesce(array_agg(q.stage), '{}')
              FROM quarantine q
             WHERE q.entry_id = e.id AND q.tenant = %(tenant)s) AS quarantined_stages,
           (SELECT coalesce(jsonb_object_agg('embed:' || s.model, s.reason), '{}')
              FROM embedding_skipped s
             WHERE s.entry_id = e.id AND s.tenant = %(tenant)s
               AND s.revision = e.revision) AS skipped_stages
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_metadata m ON m.entry_id = e.id AND m.tenant = %(tenant)s
     WHERE e.tenant = %(tenant)s"""
    + rights.SEEN
)

_ONE: LiteralString = _WHOLE + _CURRENT + " AND e.id = %(entry_id)s"
_NAMED: LiteralString = (
    _WHOLE + _CURRENT + " AND e.source = %(source)s AND e.external_id = %(external_id)s"
)
_THESE: LiteralString = " AND e.id = ANY(%(ids)s) ORDER BY e.id LIMIT 1000"
_SOME: LiteralString = _BRIEF + _CURRENT + _THESE
_SOME_WHOLE: LiteralString = _WHOLE + _CURRENT + _THESE

# A thread is called by the id of an entry, which may stand alone.
_OF_THREAD: LiteralString = f"""{_BRIEF}{_CURRENT}
       AND (e.id = ANY (%(threads)s::uuid[])
            OR {rights.in_threads("e", "%(threads)s")})
       AND e.deleted_at IS NULL
     ORDER BY e.entry_time, e.id
     LIMIT %(limit)s"""

_FILTERS: LiteralString = """
       AND (%(sources)s::text[] IS NULL OR e.source = ANY(%(sources)s))
       AND (%(asked)s::text[] IS NULL OR e.logbooks && %(asked)s)
       AND (%(external_id)s::text IS NULL OR e.external_id = %(external_id)s)
       AND (%(include_deleted)s OR e.deleted_at IS NULL)"""

_LISTED: LiteralString = _BRIEF + _CURRENT + _FILTERS
# Behind the filters that are given.
_BEHIND: LiteralString = """
       AND (%(after_time)s::timestamptz IS NULL
            OR (e.entry_time, e.id) < (%(after_time)s, %(after_id)s::uuid))
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(limit)s"""
# What is dated in the future is a mistake most likely: it leads no list of the newest.
_NEWEST: LiteralString = " AND e.entry_time < %(ahead)s" + _BEHIND
_AHEAD: LiteralString = " AND e.entry_time >= %(ahead)s" + _BEHIND
_OLDEST: LiteralString = """
       AND (%(after_time)s::timestamptz IS NULL
            OR (e.entry_time, e.id) > (%(after_time)s, %(after_id)s::uuid))
     ORDER BY e.entry_time, e.id
     LIMIT %(limit)s"""
_RECEIVED: LiteralString = """
       AND (%(after_time)s::timestamptz IS NULL
            OR (e.received_at, e.id) < (%(after_time)s, %(after_id)s::uuid))
     ORDER BY e.received_at DESC, e.id DESC
     LIMIT %(limit)s"""
# The parts of a listing, in turn.
_ORDERS: dict[Sort, tuple[LiteralString, ...]] = {
    "newest": (_NEWEST, _AHEAD),
    "oldest": (_OLDEST,),
    "received": (_RECEIVED,),
}

_TOTAL: LiteralString = f"""
    SELECT count(*)
      FROM entry e
     WHERE e.tenant = %(tenant)s{rights.SEEN}{_FILTERS}"""

# A file that was not fetched is known by its name alone.
_PICTURES = r"\.(png|jpe?g|gif|webp|bmp|tiff?|svg)$"
_CONTENTS: LiteralString = f"""
    SELECT e.id AS entry_id, e.tenant, e.source, e.external_id, e.revision,
           e.doc_version, r.title, coalesce(r.plain, r.text) AS text,
           CASE WHEN r.plain IS NULL THEN r.text_format ELSE 'plain' END AS text_format,
           CASE WHEN r.plain IS NOT NULL THEN r.text END AS marked,
           e.language AS said_language, e.authors, e.tags,
           e.logbooks, e.kind, e.origin, {entry_fields.columns("e.")}, e.metadata,
           e.entry_time, e.event_time, e.thread_id, e.readers, e.visible_from,
           e.deleted_at IS NOT NULL AS deleted,
           files.bytes IS NOT NULL AS has_attachments,
           coalesce(files.bytes, 0) AS attached_bytes,
           coalesce(files.has_pictures, false) AS has_pictures,
           ARRAY(SELECT f.words FROM entry_finding f
                  WHERE f.entry_id = e.id AND f.tenant = %(tenant)s
                    AND f.revision = e.revision AND f.words <> ''
                  ORDER BY f.stage) AS words_found
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     CROSS JOIN LATERAL (
           SELECT sum(octet_length(a.filename) + coalesce(octet_length(a.caption), 0)
                      + coalesce(octet_length(a.text), 0)) AS bytes,
                  bool_or(a.media_type ^@ 'image/' OR a.filename ~* %(pictures)s)
                    AS has_pictures
             FROM attachment a
            WHERE a.entry_id = e.id) AS files
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s)
     ORDER BY e.id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class EntryRow(EntryFields):
    """The fields of an entry's newest revision that people and stages read."""

    entry_id: UUID
    tenant: str
    source: str
    external_id: str
    kind: str
    logbooks: list[str]
    authors: list[str]
    title: str
    text: str
    text_format: str
    entry_time: datetime
    event_time: datetime | None
    tags: list[str]
    metadata: dict[str, Any]
    thread_id: UUID | None
    revision: int
    doc_version: int
    origin: str
    readers: list[str] | None
    visible_from: datetime | None


@dataclass(frozen=True, slots=True)
class EntryView(EntryRow):
    """One entry as its readers see it, newest revision."""

    url: str | None
    # The length of the whole text; of a listing `text` has only its beginning.
    text_chars: int
    modified_at: datetime
    received_at: datetime
    entities: list[dict[str, Any]]
    reply_to: str | None
    language: str | None
    content_hash: bytes
    deleted_at: datetime | None
    delete_reason: str | None
    text_flags: list[str]
    flags: list[str]
    due_stages: dict[str, str]
    quarantined_stages: list[str]
    # Why there is nothing to be done, by stage.
    skipped_stages: dict[str, str]
    # What the reading of this very revision came to, beside what came with it.
    read_flags: list[str]


@dataclass(frozen=True, slots=True)
class Content(EntryRow):
    """The fields of an entry that stages of work need."""

    # The text as it came; `text` is as it is read, without markup.
    marked: str | None
    # Only where the source says it.
    said_language: str | None
    deleted: bool
    has_attachments: bool
    # What stages have found in this revision that is searched with it.
    words_found: list[str] = field(default_factory=list)
    # The size of the text read from its files, to tell how long loading takes.
    attached_bytes: int = 0
    has_pictures: bool = False


@dataclass(frozen=True, slots=True)
class ListingFilter:
    """Which entries a listing holds."""

    sources: Sequence[str] | None = None
    logbooks: Sequence[str] | None = None
    external_id: str | None = None
    include_deleted: bool = False
    sort: Sort = "newest"
    # The filters of a search, as its statements take them.
    narrowed: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the listing's statements."""
        return {
            "sources": None if self.sources is None else list(self.sources),
            "asked": None if self.logbooks is None else list(self.logbooks),
            "external_id": self.external_id,
            "include_deleted": self.include_deleted,
            **self.narrowed,
        }


@dataclass(frozen=True, slots=True)
class ListingPosition:
    """Where a page of a listing ended."""

    time: datetime | None = field(default=None)
    entry_id: UUID | None = field(default=None)


def load_entry(conn: Connection, scope: Scope, entry_id: UUID) -> EntryView | None:
    """Return the newest revision, tombstones too; None when absent or not theirs."""
    return fetch_one(conn, EntryView, _ONE, {"entry_id": entry_id, **scope.params})


def load_present_entry(conn: Connection, scope: Scope, entry_id: UUID) -> EntryView:
    """Return the newest revision, or raise that the entry is unknown or deleted."""
    return require_entry(load_entry(conn, scope, entry_id))


def require_entry(entry: EntryView | None) -> EntryView:
    """Return the entry, or raise that it is unknown or deleted."""
    if entry is None:
        raise NotFoundError
    if entry.deleted_at is not None:
        deleted = timestamp(entry.deleted_at)
        raise GoneError(
            f"This entry was {tombstones.describe_deletion(entry.delete_reason)}.",
            details={"deleted_at": deleted, "reason": entry.delete_reason},
        )
    return entry


def get_by_external_id(
    conn: Connection, scope: Scope, source: str, external_id: str
) -> EntryView | None:
    """Return the newest revision of an entry by source and external id, or None."""
    values = {"source": source, "external_id": external_id, **scope.params}
    return fetch_one(conn, EntryView, _NAMED, values)


def load_entries(
    conn: Connection, scope: Scope, ids: Sequence[UUID], *, whole: bool = False
) -> dict[UUID, EntryView]:
    """Return the entries that the caller may see, with texts cut unless `whole`."""
    values = {"ids": list(ids), **scope.params}
    statement = _SOME_WHOLE if whole else _SOME
    return {row.entry_id: row for row in fetch_all(conn, EntryView, statement, values)}


def of_thread(
    conn: Connection, scope: Scope, thread_id: UUID, *, limit: int
) -> list[EntryView]:
    """Return the members of a thread, oldest first, their texts cut.

    It is named by any of its entries that the caller may see.
    """
    values = {"threads": [thread_id], "limit": limit, **scope.params}
    return fetch_all(conn, EntryView, _OF_THREAD, values)


def list_entries(
    conn: Connection,
    scope: Scope,
    wanted: ListingFilter,
    *,
    limit: int,
    after: ListingPosition | None = None,
) -> list[EntryView]:
    """Return one page of entries in a total order, their texts cut."""
    place = after or ListingPosition()
    ahead = datetime.now(UTC) + FUTURE
    parts = _ORDERS[wanted.sort]
    if place.time is not None and place.time >= ahead:
        parts = parts[-1:]
    found: list[EntryView] = []
    with conn.cursor(row_factory=class_row(EntryView)) as cur:
        for part in parts:
            values = {
                **scope.params,
                **wanted.params,
                "ahead": ahead,
                "limit": limit - len(found),
                "after_time": place.time,
                "after_id": place.entry_id,
            }
            statement = _LISTED + narrowed_by(wanted.narrowed) + part
            found += cur.execute(statement, values).fetchall()
            if len(found) == limit:
                break
            # A part that follows begins at its own newest.
            place = ListingPosition()
    return found


def count_entries(conn: Connection, scope: Scope, wanted: ListingFilter) -> int:
    """Return how many entries the listing holds."""
    statement = _TOTAL + narrowed_by(wanted.narrowed)
    return int(fetch_value(conn, statement, {**scope.params, **wanted.params}) or 0)


def load_contents(
    conn: Connection, tenant: str, ids: Sequence[UUID]
) -> dict[UUID, Content]:
    """Return the contents of entries for the stages, by id; at most a thousand."""
    # In the wire's own form lists and times are read in half the time.
    values = {"tenant": tenant, "ids": list(ids), "pictures": _PICTURES}
    found = fetch_all(conn, Content, _CONTENTS, values, binary=True)
    return {row.entry_id: row for row in found}
