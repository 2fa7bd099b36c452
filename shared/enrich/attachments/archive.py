"""Archives that are opened without trusting a word of what they say of themselves.

What their list of members claims is compared with what is there: sizes are counted as
they are unpacked, names are looked at and never used, and nothing is ever written.
"""

import bz2
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import BinaryIO, Protocol
from zipfile import ZipInfo

from shared.errors import InvalidRequestError

# What is smaller harms nobody, however tightly it is packed.
RATIO_FROM_BYTES = 1_048_576
MAX_NAME_CHARS = 1024

_CHUNK = 65_536
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LOCAL_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 0x1
_DRIVE = re.compile(r"^[A-Za-z]:")
# Documents that are archives themselves, and are not opened within another.
_DOCUMENTS = frozenset(
    {
        *(".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".xltx", ".pptx", ".pptm"),
        *(".odt", ".ods", ".odp", ".odg", ".epub", ".vsdx", ".kmz", ".jar", ".npz"),
        *(".whl", ".xps", ".fcstd", ".3mf"),
    }
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold before it is refused."""

    max_unpacked_bytes: int
    max_members: int
    max_ratio: int


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _Deflated:
    """zlib's stream in the manners of bz2."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(-15)

    @property
    def eof(self) -> bool:
        """Whether the stream has said that it ends."""
        return self._stream.eof

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Unpack at most so much; the rest is kept for the next call."""
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


def unsafe(reason: str, message: str) -> InvalidRequestError:
    """Return the refusal of an archive, with a word for programs and one for people."""
    return InvalidRequestError(
        f"This archive is not opened: {message}.",
        code="unsafe_archive",
        details={"reason": reason},
    )


class Archive:
    """A zip file whose members are counted as they are unpacked."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        self._file = file
        self._limits = limits
        self._size = file.seek(0, 2)
        self._written = 0
        try:
            self.members = zipfile.ZipFile(file).infolist()
        except MemoryError as exc:
            raise unsafe("too_many_members", "its list of members is too long") from exc
        if len(self.members) > limits.max_members:
            message = f"{len(self.members)} members are more than {limits.max_members}"
            raise unsafe("too_many_members", message)
        for member in self.members:
            _check_name(member)
        self._check_places()

    @property
    def names(self) -> list[str]:
        """The members that are files, in the order of the archive."""
        return [one.filename for one in self.members if not one.is_dir()]

    def check(self) -> None:
        """Unpack every member into nothing, and raise where one lies or is too much."""
        for member in self.members:
            head = b""
            for piece in self.pieces(member):
                head = head or piece[:4]
            suffix = PurePosixPath(member.filename.lower()).suffix
            if head == _LOCAL_MAGIC and suffix not in _DOCUMENTS:
                raise unsafe("nested", "it holds another archive")
        self._written = 0

    def pieces(self, member: ZipInfo) -> Iterator[bytes]:
        """Yield what a member holds; nothing of one that cannot be unpacked here."""
        inflater = _inflater(member)
        if member.flag_bits & _ENCRYPTED or (inflater is None and member.compress_type):
            self._count(member.file_size)
            return
        written = 0
        stored = self._stored(member)
        for piece in _unpacked(stored, inflater) if inflater else stored:
            written += len(piece)
            self._count(len(piece))
            if written > member.file_size:
                break
            yield piece
        if written != member.file_size:
            raise unsafe("false_size", "a member is not as large as it says")

    def _count(self, size: int) -> None:
        self._written += size
        if self._written > self._limits.max_unpacked_bytes:
            message = f"it unpacks to more than {self._limits.max_unpacked_bytes} bytes"
            raise unsafe("too_large", message)
        ratio = self._limits.max_ratio
        if self._written > max(RATIO_FROM_BYTES, ratio * self._size):
            raise unsafe("ratio", f"it is packed more tightly than {ratio} to 1")

    def _stored(self, member: ZipInfo) -> Iterator[bytes]:
        place, left = self._data_at(member), member.compress_size
        while left:
            self._file.seek(place)
            piece = self._file.read(min(_CHUNK, left))
            if not piece:
                raise unsafe("false_size", "a member lies beyond its end")
            place, left = place + len(piece), left - len(piece)
            yield piece

    def _data_at(self, member: ZipInfo) -> int:
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(_LOCAL_MAGIC):
            raise unsafe("no_member", "a member is not where its list says")
        _, name, extra = _LOCAL_HEADER.unpack(header)
        return member.header_offset + _LOCAL_HEADER.size + int(name) + int(extra)

    def _check_places(self) -> None:
        """Refuse members that share their bytes: a few of them unpack to anything."""
        places = sorted(
            (member.header_offset, self._data_at(member) + member.compress_size)
            for member in self.members
        )
        if any(end > start for (_, end), (start, _) in pairwise(places)):
            raise unsafe("overlap", "its members lie upon each other")


def _inflater(member: ZipInfo) -> _Inflater | None:
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return _Deflated()
    if member.compress_type == zipfile.ZIP_BZIP2:
        return bz2.BZ2Decompressor()
    return None


def _unpacked(pieces: Iterator[bytes], inflater: _Inflater) -> Iterator[bytes]:
    try:
        for piece in pieces:
            found = inflater.decompress(piece, _CHUNK)
            # As much as was asked for: more may wait, with all of the piece read.
            while len(found) == _CHUNK and not inflater.eof:
                yield found
                found = inflater.decompress(b"", _CHUNK)
            yield found
            if inflater.eof:
                return
    except (zlib.error, OSError) as exc:
        raise unsafe("broken", "a member cannot be unpacked") from exc


def _check_name(member: ZipInfo) -> None:
    name = member.orig_filename
    parts = name.replace("\\", "/").split("/")
    if (
        len(name) > MAX_NAME_CHARS
        or "\0" in name
        or not name
        or parts[0] == ""
        or _DRIVE.match(name)
        or ".." in parts
    ):
        raise unsafe("path", "the name of a member leads elsewhere")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise unsafe("not_a_file", "a member is a link or a device")
