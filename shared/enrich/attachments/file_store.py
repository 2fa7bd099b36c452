"""Files kept by their content: the same bytes once, whole or not at all.

A folder of this machine, or whatever fsspec knows the address of.
"""

import io
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO
from uuid import UUID

from fsspec.core import url_to_fs

from shared.errors import ConfigurationError, SourceUnreachableError
from shared.ids import uuid7
from shared.log import get_logger
from shared.settings.settings import Settings

log = get_logger()

STORE_UNAVAILABLE = "store_unavailable"

_CHUNK = 1_048_576
_HASH = re.compile(r"[0-9a-f]{64}")
_INCOMING = "incoming"
# What a killed writer has left; whoever still writes is done long before.
_LEFT_OVER_SECONDS = 86_400
# The bits of a UUIDv7 that stand below its milliseconds.
_BELOW_TIME = 80


class FileStore:
    """Content by its SHA-256, under `ab/cd/<hash>`."""

    def __init__(self, url: str) -> None:
        try:
            self._fs, self._root = url_to_fs(url)
        except (ImportError, ValueError) as exc:
            message = f"attachments.store: {exc}."
            raise ConfigurationError(message, config_key="attachments.store") from exc

    def put(self, file: BinaryIO, sha256: bytes, size: int) -> None:
        """Keep a file from its start; idempotent, and never seen half."""
        path = self._path(sha256)
        with translate_file_errors():
            if self._size(path) == size:
                return
            self._fs.makedirs(f"{self._root}/{_INCOMING}", exist_ok=True)
            coming = f"{self._root}/{_INCOMING}/{uuid7()}"
            is_whole = False
            try:
                file.seek(0)
                self._write(file, coming)
                self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._fs.mv(coming, path)
                is_whole = True
            finally:
                if not is_whole:
                    with suppress(OSError):
                        self._fs.rm(coming)

    def has(self, sha256: bytes, size: int) -> bool:
        """Tell whether the content is here, and whole."""
        with translate_file_errors():
            return self._size(self._path(sha256)) == size

    @contextmanager
    def open(self, sha256: bytes) -> Iterator[BinaryIO]:
        """Open the content for reading."""
        with translate_file_errors():
            opened = self._fs.open(self._path(sha256), "rb")
        with opened:
            yield opened

    def delete(self, sha256: bytes) -> None:
        """Remove a content; one that is missing is no error."""
        with translate_file_errors(), suppress(FileNotFoundError):
            self._fs.rm(self._path(sha256))

    def is_there(self) -> bool:
        """Tell whether anything was ever stored."""
        with translate_file_errors():
            return bool(self._fs.exists(self._root))

    def contents(self, prefix: str) -> list[bytes]:
        """Return every content whose hash begins with these two letters."""
        with translate_file_errors():
            try:
                paths = self._fs.find(f"{self._root}/{prefix}")
            except FileNotFoundError:
                return []
        names = sorted(str(path).rpartition("/")[2] for path in paths)
        return [bytes.fromhex(name) for name in names if _HASH.fullmatch(name)]

    def sweep(self) -> int:
        """Remove what killed writers have left of files; return how many."""
        before = time.time() - _LEFT_OVER_SECONDS
        removed = 0
        with translate_file_errors(), suppress(FileNotFoundError):
            for path in self._fs.ls(f"{self._root}/{_INCOMING}", detail=False):
                begun = _begun(str(path).rpartition("/")[2])
                if begun is not None and begun < before:
                    self._fs.rm(path)
                    removed += 1
        return removed

    def _path(self, sha256: bytes) -> str:
        name = sha256.hex()
        return f"{self._root}/{name[:2]}/{name[2:4]}/{name}"

    def _size(self, path: str) -> int | None:
        try:
            found: Any = self._fs.info(path)
        except FileNotFoundError:
            return None
        return int(found["size"])

    def _write(self, file: BinaryIO, path: str) -> None:
        with self._fs.open(path, "wb") as target:
            shutil.copyfileobj(file, target, _CHUNK)
            target.flush()
            # What the database says is stored survives a power cut; of a store
            # elsewhere its own promise holds.
            with suppress(AttributeError, io.UnsupportedOperation):
                os.fsync(target.fileno())


def open_store(settings: Settings) -> FileStore:
    """Return the store of these settings; nothing is read or written yet."""
    return FileStore(settings.attachments.store or str(settings.home / "attachments"))


def _begun(name: str) -> float | None:
    """Return when a file was begun to be written: its name tells."""
    try:
        return (UUID(name).int >> _BELOW_TIME) / 1000
    except ValueError:
        return None


@contextmanager
def translate_file_errors() -> Iterator[None]:
    """Turn a store that cannot be reached, or a full disk, into our own error."""
    try:
        yield
    except OSError as exc:
        raise SourceUnreachableError(
            "The store of attached files does not answer, or a disk is full.",
            reason=STORE_UNAVAILABLE,
            technical=f"{type(exc).__name__}: {exc}",
        ) from exc
