"""Packed bytes, unpacked piece by piece and never much more than they promise."""

import zlib
from collections.abc import Iterator

from shared.errors import IngestionError, SourceUnreachableError

MOST_RATIO = 100
# Small answers may repeat themselves as they like.
_HARMLESS_BYTES = 1_048_576
_PIECE_BYTES = 65_536
_GZIP = 31
_ZLIB = 15
_RAW = -15
_ZLIB_METHOD = 8
_ZLIB_CHECK = 31


class Unpacker:
    """Unpacks gzip (of any number of members) and deflate; refuses bombs."""

    def __init__(self, coding: str) -> None:
        self._is_gzip = coding == "gzip"
        self._first = b""
        self._stream = zlib.decompressobj(_GZIP) if self._is_gzip else None
        self._taken = 0
        self._given = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what these bytes hold, in pieces of at most 64 KiB."""
        self._taken += len(data)
        if self._stream is None:
            self._first += data
            if len(self._first) <= 1:
                return
            self._stream = zlib.decompressobj(_wbits(self._first))
            data, self._first = self._first, b""
        is_full = False
        # A full piece may leave more behind inside of zlib, with no input left.
        while data or is_full:
            if self._stream.eof:
                is_full, data = False, self._next_member(data)
                continue
            piece = self._unpacked(data)
            is_full = len(piece) == _PIECE_BYTES
            data = self._stream.unconsumed_tail or self._stream.unused_data
            if piece:
                yield piece

    def end(self) -> None:
        """Raise if what came is not whole."""
        if self._taken and not (self._stream and self._stream.eof):
            raise _broken("it ends too early")

    def _unpacked(self, data: bytes) -> bytes:
        assert self._stream is not None
        try:
            piece = self._stream.decompress(data, _PIECE_BYTES)
        except zlib.error as exc:
            raise _broken(str(exc)) from exc
        self._given += len(piece)
        if self._given > max(_HARMLESS_BYTES, MOST_RATIO * self._taken):
            raise IngestionError(
                f"What the source sent unpacks to more than {MOST_RATIO} times itself;"
                " it was cut off.",
                reason="unpack_ratio",
            )
        return piece

    def _next_member(self, data: bytes) -> bytes:
        """Begin the next member; padding between or after them is none."""
        data = data.lstrip(b"\0")
        if data and not self._is_gzip:
            raise _broken("something follows its end")
        if data:
            self._stream = zlib.decompressobj(_GZIP)
        return data


def _wbits(first: bytes) -> int:
    """Tell deflate as it is meant, within zlib, from what some servers send."""
    is_zlib = first[0] & 15 == _ZLIB_METHOD and not (
        (first[0] << 8 | first[1]) % _ZLIB_CHECK
    )
    return _ZLIB if is_zlib else _RAW


def _broken(why: str) -> SourceUnreachableError:
    return SourceUnreachableError(
        "The source sent packed data that is broken.", reason="half_body", technical=why
    )
