"""How far each file of a source was read, and whether it can be read on from there."""

import hashlib
import typing
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, NamedTuple, Protocol, Self

from shared.adapter_contract.contract import FileStat, SourceIO

CURSOR_FORMAT = 1
HEAD_BYTES = 4096
_TAIL_BYTES = 1024


class Record(NamedTuple):
    """One record of a file, and the place behind it."""

    payload: Any
    # Where it begins, for people.
    line: int
    # Where the next one begins, in bytes; 0 where that cannot be told.
    end: int = 0
    media_type: str = "application/json"
    # Where its text had to be guessed.
    charset: str | None = None
    # The last bytes of it.
    tail: bytes = b""
    # A digest of all of it, where its bytes were at hand.
    digest: str | None = None
    # How many they were, or about as many as were read for it: a page is bounded by it.
    size: int = 0


class Files(Protocol):
    """Files that may have changed: of a folder, or one that is fetched."""

    def names(self) -> list[str]:
        """Return the names of the files in the order of reading."""

    def stat(self, name: str, known: Mapping[str, str]) -> FileStat | None:
        """Return the state of a file; None if its version is still the one `known`."""

    @property
    def answer(self) -> dict[str, str]:
        """Return a mark of the last look, which saves a look at an unchanged file."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """A version of a file, and the place up to which it was read."""

    size: int
    mtime_ns: int
    inode: int
    offset: int = 0
    line: int = 0
    # How many records lie before the place.
    count: int = 0
    head: str = ""
    tail: str = ""
    tail_bytes: int = 0
    # Some records have no id, so that how often each came before matters.
    counts_matter: bool = False
    # The end is not there yet: to be looked at again, even if nothing changes.
    waits: bool = False
    # The settings that it was read by, and the answer that it came in, if any.
    read_by: str = ""
    answer: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """Return a mark as it was kept, or None for anything else."""
        if not isinstance(value, dict):
            return None
        hints = typing.get_type_hints(cls).items()
        known = {name: typing.get_origin(kind) or kind for name, kind in hints}
        if set(value) - set(known) or not {"size", "mtime_ns", "inode"} <= set(value):
            return None
        if any(type(each) is not known[key] for key, each in value.items()):
            return None
        return cls(**value)

    @classmethod
    def start(
        cls, stat: FileStat, read_by: str = "", answer: Mapping[str, str] | None = None
    ) -> Self:
        """Return the very beginning of a version."""
        version = (stat.size, stat.mtime_ns, stat.inode)
        return cls(*version, read_by=read_by, answer=dict(answer or {}))

    def kept(self) -> dict[str, Any]:
        """Return the mark as JSON."""
        return asdict(self)

    def is_of(self, stat: FileStat) -> bool:
        """Tell whether the file is still that version."""
        version = (self.size, self.mtime_ns, self.inode)
        return version == (stat.size, stat.mtime_ns, stat.inode)

    def may_have_grown(self, stat: FileStat) -> bool:
        """Tell whether the file may be that version with more behind it."""
        return self.inode == stat.inode and self.size < stat.size

    def begins(self, first: bytes) -> bool:
        """Tell whether a file begins as that version did."""
        return self.head == digest(first[: min(HEAD_BYTES, self.offset)])


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How far a walk over all files is; the cursor says nothing else."""

    # Whether everything is read again, whatever is known of it.
    is_full: bool = True
    name: str | None = None
    # None: the file is done.
    mark: FileMark | None = None

    @classmethod
    def of(cls, cursor: Any) -> Self:
        """Return the place of a cursor; of one that cannot be read, the beginning."""
        if not isinstance(cursor, dict) or cursor.get("v") != CURSOR_FORMAT:
            return cls()
        name, kept = cursor.get("file"), cursor.get("mark")
        mark = FileMark.of(kept)
        if not isinstance(name, str | None) or (kept is not None and mark is None):
            return cls()
        return cls(cursor.get("full") is True, name, mark)

    def is_behind(self, name: str) -> bool:
        """Tell whether a file was read before this place."""
        if name == self.name:
            return self.mark is None
        return self.name is not None and name < self.name

    def cursor(self) -> dict[str, Any]:
        """Return the place as a cursor."""
        found: dict[str, Any] = {"v": CURSOR_FORMAT}
        if self.is_full:
            found["full"] = True
        if self.name is not None:
            found["file"] = self.name
            found["mark"] = self.mark.kept() if self.mark else None
        return found


class PathFiles:
    """The files of a source's path."""

    def __init__(self, io: SourceIO) -> None:
        self._io = io

    def names(self) -> list[str]:
        """Return the names of the files, sorted."""
        return self._io.files.names()

    def stat(self, name: str, known: Mapping[str, str]) -> FileStat | None:  # noqa: ARG002 - it costs nothing
        """Return the file system's state of a file."""
        return self._io.files.stat(name)

    @property
    def answer(self) -> dict[str, str]:
        """Return nothing: to look costs nothing."""
        return {}

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading."""
        return self._io.files.open(name)


def digest(data: bytes) -> str:
    """Return a short name of some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def whole_digest(data: bytes) -> str:
    """Return a digest of a record that tells its versions apart.

    The end of its line may only come with the next record.
    """
    return hashlib.blake2b(data.rstrip(), digest_size=16).hexdigest()


def tail_of(data: bytes) -> bytes:
    """Return the end of a record, by which its place is known again."""
    return data[-_TAIL_BYTES:]


def memory_key(name: str) -> str:
    """Return the key under which a file's mark is remembered."""
    return f"file:{name}"
