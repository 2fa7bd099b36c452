"""A backup as a file: a tar of parts, at its end a manifest with the hash of each.

It has its name once it is whole. Nothing is held in memory: a part is written before
its length is known, and its header is filled in afterwards.
"""

import fcntl
import hashlib
import json
import os
import signal
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from api.cli.output import CommandError

MANIFEST, DATABASE = "manifest.json", "database.dump"
ATTACHMENTS, CONFIGURATION = "attachments/", "configuration/"
# Raised where a reader of this release could not make sense of a later file.
FORMAT = 1
CHUNK_BYTES = 1_048_576
# How the name of a file ends that is not whole yet.
_UNFINISHED = ".logchord-part"
_MOST_MANIFEST_BYTES = 10_000_000

# Called with the bytes that are done by now.
Progress = Callable[[int], None]


@dataclass
class ArchiveWriter:
    """Writes parts one after the other; attachments are named by their hash."""

    file: IO[bytes]
    parts: list[dict[str, Any]] = field(default_factory=list)
    attachments: int = 0
    attachment_bytes: int = 0

    def add(self, name: str, pieces: Iterable[bytes], **told: str) -> None:
        """Write a part, and keep its length and hash for the manifest."""
        size, sha256 = self._write(name, pieces)
        self.parts.append({"name": name, "bytes": size, "sha256": sha256, **told})

    def add_attachment(self, sha256: bytes, pieces: Iterable[bytes]) -> bool:
        """Write an attached file; take it back if it is not what its hash says."""
        start = self.file.tell()
        size, found = self._write(f"{ATTACHMENTS}{sha256.hex()}", pieces)
        if found != sha256.hex():
            self.file.seek(start)
            self.file.truncate()
            return False
        self.attachments += 1
        self.attachment_bytes += size
        return True

    def close(self, told: dict[str, Any]) -> None:
        """Write the manifest and the end of the tar."""
        manifest = {
            "format": FORMAT,
            **told,
            "parts": self.parts,
            "attachments": self.attachments,
            "attachment_bytes": self.attachment_bytes,
        }
        manifest["sha256"] = _hash_of_manifest(manifest)
        self._write(MANIFEST, [json.dumps(manifest, indent=1).encode()])
        self.file.write(bytes(2 * tarfile.BLOCKSIZE))

    def _write(self, name: str, pieces: Iterable[bytes]) -> tuple[int, str]:
        start, size, digest = self.file.tell(), 0, hashlib.sha256()
        self.file.write(bytes(tarfile.BLOCKSIZE))
        for piece in pieces:
            self.file.write(piece)
            digest.update(piece)
            size += len(piece)
        self.file.write(bytes(-size % tarfile.BLOCKSIZE))
        end = self.file.tell()
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = size, 0o600, int(time.time())
        self.file.seek(start)
        # In this form a header is one block, however long its part is.
        self.file.write(header.tobuf(tarfile.GNU_FORMAT))
        self.file.seek(end)
        return size, digest.hexdigest()


@contextmanager
def new_archive(path: Path, *, force: bool) -> Iterator[ArchiveWriter]:
    """Give a writer; what it wrote becomes the file once the block ends well."""
    fresh: Path | None = None
    try:
        _refuse_existing(path, force=force)
        _remove_leftovers(path.parent)
        # A file of gigabytes is not left behind by whoever is told to end.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # For nobody else's eyes from its first byte on.
        descriptor, name = tempfile.mkstemp(_UNFINISHED, f".{path.name}.", path.parent)
        fresh = Path(name)
        with os.fdopen(descriptor, "w+b") as file:
            _lock(file)
            yield ArchiveWriter(file)
            file.flush()
            os.fsync(file.fileno())
        _refuse_existing(path, force=force)
        fresh.replace(path)
        fresh = None
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        message = f"{path} cannot be written: {reason}. There is no such backup."
        raise CommandError(message) from exc
    finally:
        if fresh is not None:
            fresh.unlink(missing_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove files of backups that were killed: nobody holds them any more."""
    for path in folder.glob(f".*{_UNFINISHED}"):
        with suppress(FileNotFoundError, PermissionError), path.open("r+b") as file:
            if _lock(file):
                path.unlink()


def _lock(file: IO[bytes]) -> bool:
    """Hold a file until it is closed; tell whether nobody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Or it lies where nothing can be held, and then nobody's are removed.
        return False
    return True


def _refuse_existing(path: Path, *, force: bool) -> None:
    if path.exists() and not (force and path.is_file()):
        message = (
            f"{path} exists; name another file. Of a backup `--force` replaces it."
        )
        if not path.is_file():
            message = f"{path} exists, and not as a file; name a file in a folder."
        raise CommandError(message)


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file from where it stands, in pieces."""
    while piece := file.read(CHUNK_BYTES):
        yield piece


def check(path: Path, progress: Progress) -> dict[str, Any]:
    """Return the manifest of a backup of which every byte is as it was written."""
    manifest: dict[str, Any] = {}
    found: dict[str, tuple[int, str]] = {}
    attachments = attachment_bytes = 0
    with _opened(path) as tar:
        for member in _members(tar):
            if member.name == MANIFEST:
                manifest = _read_manifest(tar, member)
                continue
            sha256 = hashlib.file_digest(_content(tar, member), "sha256").hexdigest()
            if member.name.startswith(ATTACHMENTS):
                attachments += 1
                attachment_bytes += member.size
                if member.name != f"{ATTACHMENTS}{sha256}":
                    raise _damaged(path, member.name)
            else:
                found[member.name] = (member.size, sha256)
            progress(tar.offset)
    told = manifest.pop("sha256", None)
    if manifest.get("format") != FORMAT or told != _hash_of_manifest(manifest):
        raise _damaged(path, MANIFEST)
    wanted = {
        part["name"]: (part["bytes"], part["sha256"]) for part in manifest["parts"]
    }
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise _damaged(path, name)
    counted = (manifest["attachments"], manifest["attachment_bytes"])
    if counted != (attachments, attachment_bytes) or DATABASE not in found:
        raise _damaged(path, "the attachments")
    return manifest


def each_attachment(path: Path) -> Iterator[tuple[bytes, int, BinaryIO]]:
    """Yield hash, length and content of every attached file."""
    with _opened(path) as tar:
        for member in _members(tar):
            if member.name.startswith(ATTACHMENTS):
                sha256 = bytes.fromhex(member.name.removeprefix(ATTACHMENTS))
                yield sha256, member.size, _content(tar, member)


@contextmanager
def open_part(path: Path, name: str) -> Iterator[BinaryIO]:
    """Open one part for reading."""
    with _opened(path) as tar:
        yield _content(tar, _find_part(tar, path, name))


@contextmanager
def open_at(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open the file where a part begins, for a program that reads on by itself."""
    with _opened(path) as tar:
        start = _find_part(tar, path, name).offset_data
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        yield file


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:") as tar:
            yield tar
    except (tarfile.TarError, EOFError) as exc:
        message = f"{path} is no whole backup of Logchord: it is no tar, or was cut off"
        message += f" ({exc}). Nothing was changed; take another."
        raise CommandError(message) from exc
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        raise CommandError(f"{path} cannot be read: {reason}.") from exc


def _members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := tar.next()) is not None:
        # It keeps every one it has seen, and there may be a million.
        tar.members = []  # type: ignore[attr-defined]
        yield member


def _find_part(tar: tarfile.TarFile, path: Path, name: str) -> tarfile.TarInfo:
    for member in _members(tar):
        if member.name == name:
            return member
    raise _damaged(path, name)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> BufferedReader:
    file = tar.extractfile(member)
    if file is None:
        message = f"{member.name} is no file"
        raise tarfile.ReadError(message)
    return cast("BufferedReader", file)


def _read_manifest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, Any]:
    try:
        found = json.loads(_content(tar, member).read(_MOST_MANIFEST_BYTES))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _hash_of_manifest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _damaged(path: Path, what: str) -> CommandError:
    return CommandError(
        f"{path} is no whole backup of Logchord: {what} is not as it was written."
        " Nothing was changed; take another."
    )
