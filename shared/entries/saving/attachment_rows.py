"""The rows of an entry's attachments; their files are fetched by a stage of its own."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from shared.entries.draft import EntryDraft
from shared.entries.saving.entry_rows import Revised
from shared.ids import uuid7

# What a caller has sent hangs on the entry, and is in no draft of it.
_GONE: LiteralString = """
    DELETE FROM attachment a
     WHERE a.tenant = %(tenant)s AND a.entry_id = ANY(%(entry_ids)s)
       AND NOT starts_with(a.external_id, 'upload:')
       AND NOT EXISTS (
           SELECT FROM json_to_recordset(%(rows)s::json)
                       AS r (entry_id uuid, external_id text)
            WHERE r.entry_id = a.entry_id AND r.external_id = a.external_id)"""
# What has another name or size is another file.
_KEEP: LiteralString = """
    INSERT INTO attachment AS a (id, tenant, entry_id, external_id, position, filename,
        url, declared_type, declared_bytes, caption, thumbnail_url, state)
    SELECT r.id, %(tenant)s, r.entry_id, r.external_id, r.position, r.filename, r.url,
           r.declared_type, r.declared_bytes, r.caption, r.thumbnail_url, %(state)s
      FROM json_to_recordset(%(rows)s::json) AS r (
        id uuid, entry_id uuid, external_id text, position integer, filename text,
        url text, declared_type text, declared_bytes bigint, caption text,
        thumbnail_url text)
     ORDER BY r.entry_id, r.external_id
        ON CONFLICT (entry_id, external_id) DO UPDATE
       SET position = excluded.position, filename = excluded.filename,
           url = excluded.url, declared_type = excluded.declared_type,
           declared_bytes = excluded.declared_bytes, caption = excluded.caption,
           thumbnail_url = excluded.thumbnail_url,
           state = CASE WHEN (a.filename, a.declared_bytes)
                             IS DISTINCT FROM (excluded.filename,
                                               excluded.declared_bytes)
                        THEN excluded.state ELSE a.state END
    RETURNING a.entry_id, a.state = 'due'"""
# What was never asked for, or not for its number or size alone: whatever was asked for,
# and is not here, has an error of another kind.
_ASK_FOR: LiteralString = """
    UPDATE attachment a SET state = 'due'
      FROM entry e
     WHERE e.id = a.entry_id AND e.tenant = %(tenant)s AND a.tenant = %(tenant)s
       AND e.source = %(source)s AND e.deleted_at IS NULL
       AND a.state = 'linked' AND a.position < %(most)s
       AND (a.error IS NULL
            OR a.error -> 'details' ->> 'reason' IN ('too_many', 'declared_too_large')
            OR %(refused)s AND a.error -> 'details' ->> 'reason' = 'address_refused')
       AND coalesce(a.declared_bytes, 0) <= %(most_bytes)s
       AND NOT starts_with(a.external_id, 'upload:')
       AND (%(entry_id)s::uuid IS NULL OR a.entry_id = %(entry_id)s)
    RETURNING a.entry_id"""
COLUMNS: LiteralString = """
    SELECT a.id, a.entry_id, a.external_id, a.position, a.filename, a.url,
           a.declared_type, a.declared_bytes, a.caption, a.thumbnail_url, a.state,
           a.error, a.media_type, a.bytes AS size, a.sha256,
           coalesce(a.text <> '', false) AS text_extracted,
           a.thumbnail IS NOT NULL AND a.state = 'stored' AS has_thumbnail"""
_OF_ENTRIES: LiteralString = f"""{COLUMNS}
      FROM attachment a
     WHERE a.tenant = %(tenant)s AND a.entry_id = ANY(%(entry_ids)s)
     ORDER BY a.entry_id, a.position, a.id
     LIMIT 10000"""

# More of a file than this is not searched: its positions would be no one's any more.
_TEXT_CHARS = 200_000
_TEXTS: LiteralString = """
    SELECT concat_ws(E'\n', a.filename, a.caption, left(a.text, %(most)s))
      FROM attachment a
     WHERE a.tenant = %(tenant)s AND a.entry_id = %(entry_id)s
     ORDER BY a.position, a.id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Attached:
    """One attachment of an entry, as far as it is known by now."""

    id: UUID
    entry_id: UUID
    external_id: str
    position: int
    filename: str
    url: str | None
    declared_type: str | None
    declared_bytes: int | None
    caption: str | None
    thumbnail_url: str | None
    state: str
    # Why it is not here, or not all of it was read.
    error: dict[str, Any] | None
    media_type: str | None
    size: int | None
    sha256: bytes | None
    text_extracted: bool
    has_thumbnail: bool


def store(
    conn: Connection, tenant: str, revised: Sequence[Revised], *, fetch: bool
) -> set[UUID]:
    """Write the attachments of new revisions; return whose files are to be fetched."""
    rows = [row for one in revised for row in _rows(one.entry_id, one.news.draft)]
    edited = [one.entry_id for one in revised if one.number > 1]
    values = {
        "tenant": tenant,
        "entry_ids": edited,
        "rows": json.dumps(rows),
        "state": "due" if fetch else "linked",
    }
    if edited:
        conn.execute(_GONE, values)
    if not rows:
        return set()
    return {row[0] for row in conn.execute(_KEEP, values) if row[1]}


def ask_for_linked(
    conn: Connection,
    tenant: str,
    source: str,
    *,
    most: int,
    most_bytes: int,
    refused: bool = False,
    entry_id: UUID | None = None,
) -> set[UUID]:
    """Make due the files of a source, or of one entry, that were only linked so far.

    Of each entry the first `most`, and none that says to be larger; with `refused` also
    what lies where it was not allowed to ask. Returns the entries whose files it is.
    """
    values = {
        "tenant": tenant,
        "source": source,
        "most": most,
        "most_bytes": most_bytes,
        "refused": refused,
        "entry_id": entry_id,
    }
    return {row[0] for row in conn.execute(_ASK_FOR, values)}


def load_attachments(
    conn: Connection, tenant: str, entry_ids: Sequence[UUID]
) -> dict[UUID, list[Attached]]:
    """Return the attachments of entries that the caller may read, in their order."""
    values = {"tenant": tenant, "entry_ids": list(entry_ids)}
    found: dict[UUID, list[Attached]] = {}
    with conn.cursor(row_factory=class_row(Attached)) as cur:
        for row in cur.execute(_OF_ENTRIES, values):
            found.setdefault(row.entry_id, []).append(row)
    return found


def load_texts(conn: Connection, tenant: str, entry_id: UUID) -> list[str]:
    """Return the searched text of each file: its name, its caption and its contents."""
    values = {"tenant": tenant, "entry_id": entry_id, "most": _TEXT_CHARS}
    return [str(row[0]) for row in conn.execute(_TEXTS, values)]


def _rows(entry_id: UUID, draft: EntryDraft) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for position, ref in enumerate(draft.attachments):
        seen[ref.id] = number = seen.get(ref.id, 0) + 1
        yield {
            "id": str(uuid7()),
            "entry_id": str(entry_id),
            # A source that names two alike means two.
            "external_id": ref.id if number == 1 else f"{ref.id}#{number}",
            "position": position,
            "filename": ref.filename,
            "url": ref.url,
            "declared_type": ref.declared_type,
            "declared_bytes": ref.bytes,
            "caption": ref.caption,
            "thumbnail_url": ref.thumbnail_url,
        }
