"""Files that callers attach: received, looked at by a child, stored, then named."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, BinaryIO
from uuid import UUID

from api.entries.schemas.attachments import attachment_out
from shared import errors
from shared.access import idempotency
from shared.access.scope import Scope
from shared.enrich.attachments import attachment_states, keep_files
from shared.enrich.attachments.file_store import FileStore, open_store
from shared.enrich.attachments.keep_files import Received
from shared.entries.reading import read_entries
from shared.entries.saving import write_rights
from shared.entries.saving.attachment_rows import Attached
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import Connection, Pool, connection
from shared.settings.settings import Settings
from shared.sources.source_state import refuse_polled
from shared.text import door
from shared.work import due_work as due

MAX_NAME_CHARS = 255
# Each is read by a process of its own, beside everything that answers requests.
_AT_ONCE = 2
_PIECE = 262_144


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent, wherever the framework has put it."""

    file: BinaryIO
    filename: str
    declared_type: str | None

    def pieces(self) -> Iterator[bytes]:
        """Yield the uploaded bytes, from their start."""
        self.file.seek(0)
        while piece := self.file.read(_PIECE):
            yield piece


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an upload is answered with."""

    status: int
    body: dict[str, Any]
    replayed: bool = False


class Uploads:
    """Takes files in, a few at a time."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings = settings
        self._pool = pool
        self.store: FileStore = open_store(settings)
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def check(self, scope: Scope, entry_id: UUID) -> None:
        """Raise unless the caller may attach a file to this entry."""
        await asyncio.to_thread(self._check, scope, entry_id)

    async def take(
        self, scope: Scope, entry_id: UUID, upload: Upload, key: str | None
    ) -> Accepted:
        """Store a file beside an entry; the same file again changes nothing."""
        async with self._turn:
            return await asyncio.to_thread(self._take, scope, entry_id, upload, key)

    def _take(
        self, scope: Scope, entry_id: UUID, upload: Upload, key: str | None
    ) -> Accepted:
        name = _name(upload.filename)
        most = self._settings.max_attachment_bytes
        opened = nullcontext(upload.pieces())
        try:
            with keep_files.receive_file(opened, name, max_bytes=most) as got:
                route = f"POST /v1/entries/{entry_id}/attachments"
                whole = got.sha256 + name.encode()
                asked = idempotency.request(scope, route, key, whole)
                known = self._known(scope, entry_id, got, name, asked)
                if known is not None:
                    return known
                return self._keep(scope, entry_id, got, name, upload, asked)
        except errors.IngestionError as exc:
            if exc.reason != keep_files.TOO_LARGE:
                raise
            message = f"A file may have {most} bytes."
            raise errors.InvalidRequestError(message, code="body_too_large") from exc

    def _check(self, scope: Scope, entry_id: UUID) -> None:
        with connection(self._pool) as conn:
            self._check_entry(conn, scope, entry_id)

    def _check_entry(self, conn: Connection, scope: Scope, entry_id: UUID) -> None:
        entry = read_entries.load_present_entry(conn, scope, entry_id)
        refuse_polled(conn, self._settings.sources, entry.source)

    def _known(
        self,
        scope: Scope,
        entry_id: UUID,
        got: Received,
        name: str,
        asked: idempotency.Request | None,
    ) -> Accepted | None:
        """Return the earlier answer to an upload of the same file, if there was one."""
        external_id = attachment_states.upload_id(got.sha256, name)
        with connection(self._pool) as conn:
            one = attachment_states.uploaded(conn, scope.tenant, entry_id, external_id)
            if one is None:
                return None
            return _answered(conn, asked, one, 200)

    def _keep(
        self,
        scope: Scope,
        entry_id: UUID,
        got: Received,
        name: str,
        upload: Upload,
        asked: idempotency.Request | None,
    ) -> Accepted:
        found = keep_files.extract_contents(got, keep_files.bounds_of(self._settings))
        with keep_files.store_file(self._pool, self.store, got) as conn:
            # An edit or a deletion that is on its way is waited for.
            write_rights.hold(conn, scope, entry_id)
            self._check_entry(conn, scope, entry_id)
            external_id = attachment_states.upload_id(got.sha256, name)
            one = attachment_states.uploaded(conn, scope.tenant, entry_id, external_id)
            if one is not None:
                return _answered(conn, asked, one, 200)
            most = self._settings.max_attachments_per_entry
            if attachment_states.count(conn, scope.tenant, entry_id) >= most:
                message = f"An entry may have {most} files."
                raise errors.InvalidRequestError.field("file", "too_many", message)
            attachment_states.add(
                conn, scope.tenant, entry_id, name, upload.declared_type, found
            )
            one = attachment_states.uploaded(conn, scope.tenant, entry_id, external_id)
            if one is None:
                raise errors.NotFoundError
            # What was read in it is searched.
            due.add(conn, scope.tenant, [entry_id], [METADATA_STAGE])
            return _answered(conn, asked, one, 201)


def _answered(
    conn: Connection, asked: idempotency.Request | None, one: Attached, status: int
) -> Accepted:
    """Answer, or answer as before: the file named by the request says the rest."""
    body = attachment_out(one)
    if asked is None:
        return Accepted(status, body)
    kept = idempotency.begin(conn, asked)
    if kept is not None:
        return Accepted(kept["status"], body, replayed=True)
    idempotency.end(conn, asked, {"status": status, "attachment_id": str(one.id)})
    return Accepted(status, body)


def _name(sent: str) -> str:
    """Return the last part of a name; where it lay at the caller's is not kept."""
    name = door.admit(sent, "file").replace("\\", "/").rpartition("/")[2]
    if not name or len(name) > MAX_NAME_CHARS:
        message = f"A file has a name of 1 to {MAX_NAME_CHARS} characters."
        raise errors.InvalidRequestError.field("file", "filename", message)
    return name
