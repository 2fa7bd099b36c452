"""Attachments as rows: what is to be fetched, what became of it, who may see it."""

import builtins
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import dict_row

from shared.access import rights
from shared.access.scope import Scope
from shared.adapter_contract.entry import AttachmentRef
from shared.entries.saving.attachment_rows import COLUMNS, Attached
from shared.errors import LogchordError
from shared.ids import uuid7
from shared.messaging.stage_names import ATTACHMENTS_STAGE
from shared.postgres.fetch_rows import fetch_all, fetch_one, fetch_value

# What a caller has sent is named by its content: a source's refs never begin so.
UPLOAD_PREFIX = "upload:"

_DUE: LiteralString = """
    SELECT a.id, a.tenant, e.source, a.external_id, a.position, a.filename, a.url,
           a.declared_type, a.declared_bytes, a.caption, a.thumbnail_url
      FROM attachment a
      JOIN entry e ON e.id = a.entry_id AND e.tenant = %(tenant)s
     WHERE a.tenant = %(tenant)s AND a.entry_id = %(entry_id)s AND a.state = 'due'
       AND e.deleted_at IS NULL
     ORDER BY a.position, a.id
     LIMIT 1000"""
# What an edit has meanwhile changed is due anew, and not what was fetched.
_ENDED: LiteralString = """
    UPDATE attachment
       SET state = %(state)s, error = %(error)s::jsonb, media_type = %(media_type)s,
           bytes = %(bytes)s, sha256 = %(sha256)s, text = %(text)s,
           thumbnail = %(thumbnail)s,
           stored_at = CASE WHEN %(state)s = 'stored' THEN now() END
     WHERE id = %(id)s AND tenant = %(tenant)s AND state = 'due'
       AND filename = %(filename)s AND url IS NOT DISTINCT FROM %(url)s
       AND declared_bytes IS NOT DISTINCT FROM %(declared_bytes)s"""
_NOTE: LiteralString = """
    UPDATE attachment SET error = %(error)s::jsonb
     WHERE id = %(id)s AND tenant = %(tenant)s AND state = 'due'"""

# What was stored before its stage was made due: by an older reader, maybe.
_STORED_BEFORE: LiteralString = """
    SELECT a.id, a.tenant, e.source, a.filename, a.sha256, a.bytes
      FROM attachment a
      JOIN entry e ON e.id = a.entry_id AND e.tenant = %(tenant)s
      JOIN work w ON w.entry_id = a.entry_id AND w.stage = %(stage)s
     WHERE a.tenant = %(tenant)s AND a.entry_id = %(entry_id)s AND a.state = 'stored'
       AND a.sha256 IS NOT NULL AND a.stored_at < w.created_at
       AND e.deleted_at IS NULL
     ORDER BY a.position, a.id
     LIMIT 1000"""
_READ_ANEW: LiteralString = """
    UPDATE attachment
       SET state = %(state)s, error = %(error)s::jsonb, media_type = %(media_type)s,
           sha256 = %(sha256)s, text = %(text)s, thumbnail = %(thumbnail)s,
           stored_at = CASE WHEN %(state)s = 'stored' THEN now() END
     WHERE id = %(id)s AND tenant = %(tenant)s AND state = 'stored'
       AND sha256 = %(of)s"""

_ONE: LiteralString = f"""{COLUMNS}, e.deleted_at IS NOT NULL AS is_deleted
      FROM attachment a
      JOIN entry e ON e.id = a.entry_id
     WHERE a.tenant = %(tenant)s AND e.tenant = %(tenant)s AND a.id = %(id)s
           {rights.SEEN}"""
_THUMBNAIL: LiteralString = f"""
    SELECT a.thumbnail, e.deleted_at IS NOT NULL
      FROM attachment a
      JOIN entry e ON e.id = a.entry_id
     WHERE a.tenant = %(tenant)s AND e.tenant = %(tenant)s AND a.id = %(id)s
       AND a.state = 'stored' AND a.thumbnail IS NOT NULL{rights.SEEN}"""
_COUNT: LiteralString = """
    SELECT count(*) FROM attachment
     WHERE tenant = %(tenant)s AND entry_id = %(entry_id)s"""
_ADD: LiteralString = """
    INSERT INTO attachment (id, tenant, entry_id, external_id, position, filename,
        declared_type, declared_bytes, state, error, media_type, bytes, sha256, text,
        thumbnail, stored_at)
    SELECT %(id)s, %(tenant)s, %(entry_id)s, %(external_id)s,
           (SELECT coalesce(max(a.position) + 1, 0) FROM attachment a
             WHERE a.entry_id = %(entry_id)s),
           %(filename)s, %(declared_type)s, %(bytes)s, 'stored', %(error)s::jsonb,
           %(media_type)s, %(bytes)s, %(sha256)s, %(text)s, %(thumbnail)s, now()
        ON CONFLICT (entry_id, external_id) DO NOTHING"""
_UPLOADED: LiteralString = f"""{COLUMNS}
      FROM attachment a
     WHERE a.tenant = %(tenant)s AND a.entry_id = %(entry_id)s
       AND a.external_id = %(external_id)s"""

_LOCK_CONTENT: LiteralString = "SELECT pg_advisory_xact_lock(%(key)s)"
_IS_USED: LiteralString = """
    SELECT EXISTS (SELECT FROM attachment WHERE sha256 = %(sha256)s)"""
_UNUSED: LiteralString = """
    SELECT stored.sha256 FROM unnest(%(hashes)s::bytea[]) AS stored (sha256)
     WHERE NOT EXISTS (SELECT FROM attachment a WHERE a.sha256 = stored.sha256)
     ORDER BY stored.sha256
     LIMIT 10000"""


@dataclass(frozen=True, slots=True)
class Due:
    """A file that is to be fetched."""

    id: UUID
    tenant: str
    source: str
    external_id: str
    position: int
    filename: str
    url: str | None
    declared_type: str | None
    declared_bytes: int | None
    caption: str | None
    thumbnail_url: str | None

    @property
    def ref(self) -> AttachmentRef:
        """Return the adapter's reference to the file."""
        return AttachmentRef(
            self.external_id,
            self.filename,
            self.url,
            self.declared_type,
            self.declared_bytes,
            self.caption,
            self.thumbnail_url,
        )


@dataclass(frozen=True, slots=True)
class Before:
    """A file that is here, and was read some time ago."""

    id: UUID
    tenant: str
    source: str
    filename: str
    sha256: bytes
    bytes: int


@dataclass(frozen=True, slots=True)
class FileContents:
    """The contents of a fetched file: its type, its digest and the text read in it."""

    media_type: str
    sha256: bytes
    text: str
    bytes: int
    error: LogchordError | None = None
    thumbnail: builtins.bytes | None = None


def list_due_files(conn: Connection, tenant: str, entry_id: UUID) -> list[Due]:
    """Return the files of an entry that are to be fetched; none of a deleted one."""
    return fetch_all(conn, Due, _DUE, {"tenant": tenant, "entry_id": entry_id})


def end(
    conn: Connection,
    one: Due,
    state: str,
    *,
    error: LogchordError | None = None,
    stored: FileContents | None = None,
) -> bool:
    """Store the outcome of fetching; false if an edit has replaced the file."""
    values = {
        "id": one.id,
        "tenant": one.tenant,
        "filename": one.filename,
        "url": one.url,
        "declared_bytes": one.declared_bytes,
        "state": state,
        "bytes": stored.bytes if stored else None,
        **_found_in(stored, error),
    }
    return conn.execute(_ENDED, values).rowcount > 0


def stored_before(conn: Connection, tenant: str, entry_id: UUID) -> list[Before]:
    """Return the stored files of an entry that were read before its stage was due."""
    values = {"tenant": tenant, "entry_id": entry_id, "stage": ATTACHMENTS_STAGE}
    return fetch_all(conn, Before, _STORED_BEFORE, values)


def read_anew(
    conn: Connection,
    one: Before,
    stored: FileContents | None,
    error: LogchordError | None = None,
) -> None:
    """Store the text read anew from a file, or none if it is no longer to be kept."""
    values = {
        "id": one.id,
        "tenant": one.tenant,
        "of": one.sha256,
        "state": "stored" if stored else "failed",
        **_found_in(stored, error),
    }
    conn.execute(_READ_ANEW, values)


def _found_in(
    stored: FileContents | None, error: LogchordError | None
) -> dict[str, object]:
    """Return the columns for a file's contents and for the error in reading it."""
    error = error or (stored.error if stored else None)
    return {
        "error": None if error is None else error.as_json(),
        "media_type": stored.media_type if stored else None,
        "sha256": stored.sha256 if stored else None,
        "text": stored.text if stored else None,
        "thumbnail": stored.thumbnail if stored else None,
    }


def record_failure(conn: Connection, one: Due, error: LogchordError) -> None:
    """Keep why a file was not fetched this time."""
    conn.execute(_NOTE, {"id": one.id, "tenant": one.tenant, "error": error.as_json()})


def one(
    conn: Connection, scope: Scope, attachment_id: UUID
) -> tuple[Attached, bool] | None:
    """Return a file, and if its entry is deleted; None when absent or not theirs."""
    values = {"id": attachment_id, **scope.params}
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(_ONE, values).fetchone()
    if row is None:
        return None
    is_deleted = row.pop("is_deleted")
    return Attached(**row), bool(is_deleted)


def thumbnail(
    conn: Connection, scope: Scope, attachment_id: UUID
) -> tuple[bytes, bool] | None:
    """Return the small picture of a file, and if its entry is deleted; None: none."""
    row = conn.execute(_THUMBNAIL, {"id": attachment_id, **scope.params}).fetchone()
    return None if row is None else (bytes(row[0]), bool(row[1]))


def count(conn: Connection, tenant: str, entry_id: UUID) -> int:
    """Return how many files an entry has."""
    return int(fetch_value(conn, _COUNT, {"tenant": tenant, "entry_id": entry_id}) or 0)


def upload_id(sha256: bytes, filename: str) -> str:
    """Return the name of what a caller has sent: the same file is the same one."""
    named = hashlib.sha256(sha256 + filename.encode()).hexdigest()
    return f"{UPLOAD_PREFIX}{named[:40]}"


def uploaded(
    conn: Connection, tenant: str, entry_id: UUID, external_id: str
) -> Attached | None:
    """Return the attachment that was uploaded under this id, if there is one."""
    values = {"tenant": tenant, "entry_id": entry_id, "external_id": external_id}
    return fetch_one(conn, Attached, _UPLOADED, values)


def add(
    conn: Connection,
    tenant: str,
    entry_id: UUID,
    filename: str,
    declared_type: str | None,
    stored: FileContents,
) -> bool:
    """Add an uploaded file behind the others; false if it is there already."""
    values = {
        "id": uuid7(),
        "tenant": tenant,
        "entry_id": entry_id,
        "external_id": upload_id(stored.sha256, filename),
        "filename": filename,
        "declared_type": declared_type,
        "bytes": stored.bytes,
        **_found_in(stored, None),
    }
    return conn.execute(_ADD, values).rowcount > 0


def lock_content(conn: Connection, sha256: bytes) -> None:
    """Lock a content until the commit: nobody may remove it or begin to use it."""
    conn.execute(_LOCK_CONTENT, {"key": int.from_bytes(sha256[:8], signed=True)})


def is_used(conn: Connection, sha256: bytes) -> bool:
    """Tell whether any row of any tenant names this content."""
    return bool(fetch_value(conn, _IS_USED, {"sha256": sha256}))


def unused(conn: Connection, stored: Sequence[bytes]) -> list[bytes]:
    """Return which of these contents no row of any tenant names."""
    return [bytes(row[0]) for row in conn.execute(_UNUSED, {"hashes": list(stored)})]
