"""From the bytes of a file to what is kept of it: received, read, stored, removed."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from psycopg import Connection

from shared.enrich.attachments import attachment_states, file_type
from shared.enrich.attachments.attachment_states import FileContents
from shared.enrich.attachments.extract_text import ExtractionBounds, extract
from shared.enrich.attachments.file_store import FileStore, translate_file_errors
from shared.errors import IngestionError
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings

TOO_LARGE = "too_large"
_HASHES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Received:
    """A file that is here, of which nobody has looked at more than the beginning."""

    # It has no name: whatever ends this process removes it.
    file: BinaryIO
    sha256: bytes
    bytes: int
    media_type: str


def bounds_of(settings: Settings) -> ExtractionBounds:
    """Return the limits for reading one file, from the settings."""
    section = settings.attachments
    return ExtractionBounds(
        seconds=section.extract_seconds,
        memory_mb=section.extract_memory_mb,
        max_text_bytes=section.max_text_bytes,
        max_unpacked_bytes=settings.max_unpacked_bytes,
        max_members=settings.max_archive_members,
        max_ratio=settings.max_archive_ratio,
        thumbnail_pixels=section.thumbnail_pixels,
    )


@contextmanager
def receive_file(
    opened: AbstractContextManager[Iterable[bytes]], filename: str, *, max_bytes: int
) -> Iterator[Received]:
    """Take a file into a place without a name, up to a size, and hang up."""
    with _temporary_file() as file:
        digest, size, head = hashlib.sha256(), 0, b""
        with opened as pieces:
            for piece in pieces:
                size += len(piece)
                if size > max_bytes:
                    message = f"The file is larger than {max_bytes} bytes."
                    raise IngestionError(message, reason=TOO_LARGE)
                if len(head) < file_type.HEAD_BYTES:
                    head = (head + piece)[: file_type.HEAD_BYTES]
                digest.update(piece)
                with translate_file_errors():
                    file.write(piece)
        with translate_file_errors():
            file.flush()
        yield Received(file, digest.digest(), size, file_type.sniff(head, filename))


@contextmanager
def _temporary_file() -> Iterator[BinaryIO]:
    """Give a file without a name; that there is no room for it is no sender's fault."""
    with translate_file_errors():
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below, translated
    try:
        yield file
    finally:
        # What could not be written is tried once more.
        with translate_file_errors():
            file.close()


def extract_contents(got: Received, bounds: ExtractionBounds) -> FileContents:
    """Read the text of a received file; raises only for an unsafe archive."""
    found = extract(got.file, got.media_type, bounds)
    return FileContents(
        found.media_type,
        got.sha256,
        found.text,
        got.bytes,
        found.error,
        found.thumbnail,
    )


@contextmanager
def store_file(pool: Pool, store: FileStore, got: Received) -> Iterator[Connection]:
    """Store the content, then give the transaction in which a row may name it.

    Nobody removes it between the two: whoever does takes the same lock.
    """
    store.put(got.file, got.sha256, got.bytes)
    with connection(pool) as conn:
        attachment_states.lock_content(conn, got.sha256)
        if not store.has(got.sha256, got.bytes):
            # Removed since, as nobody's: rare enough to be done under the lock.
            store.put(got.file, got.sha256, got.bytes)
        yield conn


def delete_file_if_unused(pool: Pool, store: FileStore, sha256: bytes) -> bool:
    """Remove a content that no row names any more; call it after the rows' commit."""
    with connection(pool) as conn:
        attachment_states.lock_content(conn, sha256)
        if attachment_states.is_used(conn, sha256):
            return False
        store.delete(sha256)
    return True


def remove_unused(pool: Pool, store: FileStore, prefix: str) -> int:
    """Remove what no row names any more of one folder; return how many.

    What has just been stored, and is still to be named, is stored again where it is
    missed.
    """
    removed = 0
    found = store.contents(prefix)
    for start in range(0, len(found), _HASHES_AT_ONCE):
        with connection(pool) as conn:
            unused = attachment_states.unused(
                conn, found[start : start + _HASHES_AT_ONCE]
            )
        removed += sum(delete_file_if_unused(pool, store, one) for one in unused)
    return removed
