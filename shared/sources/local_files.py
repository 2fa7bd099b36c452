"""Files below the path of a source, and nothing else of this machine."""

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import structlog

from shared.adapter_contract.contract import FileStat
from shared.errors import FileGoneError, IngestionError, SourceUnreachableError
from shared.http.unpack import Unpacker

_GZIP_MAGIC = b"\x1f\x8b"
_READ_BYTES = 262_144
_MARKS = frozenset("*?[")
_ANY_DEPTH = "**"
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM})
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})

log = structlog.get_logger()


class PathFiles:
    """A file, a folder or a pattern, as the settings name it.

    Names are relative to the folder. Hidden files and linked folders are left out; a
    linked file is read as long as it stays in the folder.
    """

    def __init__(self, source: str, path: str | None) -> None:
        self._source = source
        self._path = Path(path).expanduser() if path else None

    def names(self, pattern: str | None = None) -> list[str]:
        """Return the files, sorted; a pattern narrows what the path itself names."""
        with self._reading():
            folder, own = self._place()
            wanted = [one for one in (own, pattern) if one]
            is_one = own is not None and not _MARKS.intersection(own)
            names = [own] if own and is_one else _walk(folder, _depth(wanted))
            found = [
                name
                for name in names
                if all(_fits(name.split("/"), one.split("/")) for one in wanted)
                and self._may_be_read(folder, name)
            ]
        return sorted(found)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open one for reading; a gzip file is unpacked while it is read."""
        with self._reading():
            descriptor = self._opened(name)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            with self._reading():
                is_packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
                file.seek(0)
            raw = _Bytes(file, self, Unpacker("gzip") if is_packed else None)
            with io.BufferedReader(raw, _READ_BYTES) as reader:
                yield cast("BinaryIO", reader)

    def stat(self, name: str) -> FileStat:
        """Return the size, time and inode that tell whether a file has changed."""
        with self._reading():
            folder, _ = self._place()
            with self._finding(name):
                found = self._inside(folder, name).stat()
        return FileStat(found.st_size, found.st_mtime_ns, found.st_ino)

    def _place(self) -> tuple[Path, str | None]:
        """Return the folder, and what the path asks for in it."""
        if self._path is None:
            raise IngestionError(
                "This source has no `path`.", reason="no_path", source=self._source
            )
        parts = self._path.parts
        for count, part in enumerate(parts):
            if _MARKS.intersection(part):
                return _real(Path(*parts[:count])), "/".join(parts[count:])
        real = _real(self._path)
        return (real, None) if real.is_dir() else (real.parent, real.name)

    def _opened(self, name: str) -> int:
        folder, _ = self._place()
        # Not blocking: a pipe without a writer would hold the run up for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._finding(name):
            descriptor = os.open(self._inside(folder, name), flags)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise self._refused(name, "is no file")
        return descriptor

    def _inside(self, folder: Path, name: str) -> Path:
        """Return where a file really lies, which must be in the folder."""
        real = _real(folder / name)
        if not real.is_relative_to(folder):
            raise self._refused(name, "leads out of the source's folder")
        return real

    def _may_be_read(self, folder: Path, name: str) -> bool:
        try:
            mode = (folder / name).lstat().st_mode
            if not stat.S_ISLNK(mode):
                return stat.S_ISREG(mode)
            return stat.S_ISREG(self._inside(folder, name).stat().st_mode)
        except OSError as exc:
            # It went away while it was listed, or leads nowhere; whatever else is
            # wrong must not look as if the file had been deleted.
            if exc.errno not in {errno.ENOENT, errno.ELOOP}:
                raise
            return False
        except IngestionError:
            log.warning("source_file_refused", source=self._source, name=name)
            return False

    def _refused(self, name: str, why: str) -> IngestionError:
        return IngestionError(
            f"{name[:200]!r} {why}; it is not read.",
            reason="outside_path",
            source=self._source,
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as exc:
            self.give_up(exc)

    @contextmanager
    def _finding(self, name: str) -> Iterator[None]:
        """Tell a file that has gone from a folder that is not there."""
        try:
            yield
        except OSError as exc:
            if exc.errno not in _NOT_THERE:
                raise
            raise FileGoneError(
                f"{name[:200]!r} has gone since it was listed.",
                reason="no_file",
                source=self._source,
            ) from exc

    def give_up(self, exc: OSError | ValueError) -> NoReturn:
        """Raise what a failure means: the file may not be read, or is not there."""
        number = exc.errno if isinstance(exc, OSError) else None
        what = f"{type(exc).__name__}: {os.strerror(number) if number else 'odd name'}"
        if number in _NOT_ALLOWED:
            raise IngestionError(
                "The files of the source may not be read by us; check their rights.",
                reason="not_authorised",
                source=self._source,
                technical=what,
            ) from exc
        raise SourceUnreachableError(
            "A file of the source cannot be read just now; check that its `path` is"
            " there.",
            reason="no_file",
            source=self._source,
            technical=what,
        ) from exc


class _Bytes(io.RawIOBase):
    """The bytes of a file, unpacked if they are packed."""

    def __init__(
        self, file: io.FileIO, files: PathFiles, unpacker: Unpacker | None
    ) -> None:
        self._file = file
        self._files = files
        self._unpacker = unpacker
        self._pieces: Iterator[bytes] = iter(())
        self._rest = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._unpacker is None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if self._unpacker is not None:
            raise io.UnsupportedOperation
        try:
            return self._file.seek(offset, whence)
        except OSError as exc:
            self._files.give_up(exc)

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer).cast("B")
        if self._unpacker is None:
            return self._read_into(room)
        if not self._rest:
            self._rest = self._next_piece(self._unpacker)
        size = min(len(room), len(self._rest))
        room[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _next_piece(self, unpacker: Unpacker) -> bytes:
        while True:
            for piece in self._pieces:
                return piece
            packed = bytearray(_READ_BYTES)
            count = self._read_into(memoryview(packed))
            if not count:
                unpacker.end()
                return b""
            self._pieces = unpacker.feed(bytes(packed[:count]))

    def _read_into(self, room: memoryview) -> int:
        try:
            return self._file.readinto(room) or 0
        except OSError as exc:
            self._files.give_up(exc)


def _real(path: Path) -> Path:
    """Follow every link; a circle of them is an OSError, as what is missing."""
    return Path(os.path.realpath(path, strict=True))


def _walk(folder: Path, depth: int | None) -> Iterator[str]:
    """Yield the names of all files, down to a depth; unreadable folders are errors."""
    for here, folders, files in os.walk(folder, onerror=_raised):
        below = Path(here).relative_to(folder)
        deep_enough = depth is not None and len(below.parts) + 1 >= depth
        folders[:] = [] if deep_enough else sorted(_not_hidden(folders))
        yield from ((below / name).as_posix() for name in _not_hidden(files))


def _raised(error: OSError) -> NoReturn:
    raise error


def _not_hidden(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(".")]


def _depth(patterns: list[str]) -> int | None:
    """Return how deep a walk must go for all of these patterns; None: to the end."""
    parts = [one.split("/") for one in patterns]
    bounded = [len(one) for one in parts if _ANY_DEPTH not in one]
    return min(bounded) if bounded else None


def _fits(parts: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == _ANY_DEPTH:
        return any(_fits(parts[at:], patterns[1:]) for at in range(len(parts) + 1))
    return (
        bool(parts)
        and fnmatchcase(parts[0], patterns[0])
        and _fits(parts[1:], patterns[1:])
    )
