"""Bytes of a file as UTF-8, whatever its beginning or its middle is written in."""

import codecs
from typing import BinaryIO, NamedTuple, Protocol, Self, cast

# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A line is as long as its entry, its escapes and what else it holds.
LEAST_LINE_BYTES = 4 * 1024 * 1024
_TIMES_ITS_ENTRY = 4
# How much of a line that is too long is kept, enough to recognise it.
OVERSIZED_KEPT = 65_536
_PIECE = 65_536
GUESS = "cp1252"


class Readable(Protocol):
    """A stream that is read from the front to the end."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes."""


class Opened(NamedTuple):
    """A file from its first byte of text on."""

    stream: BinaryIO
    # Where its text begins, past a byte order mark.
    begin: int
    # Its bytes are not those of the file, which therefore has no places to go back to.
    is_recoded: bool


class TextLine(NamedTuple):
    """One line with its end, and where the next one begins."""

    data: bytes
    number: int
    end: int
    is_whole: bool
    is_cut: bool


def most_line_bytes(max_entry_bytes: int) -> int:
    """Return how long a line may be where its entry may be so long."""
    return max(LEAST_LINE_BYTES, _TIMES_ITS_ENTRY * max_entry_bytes)


def beginning(stream: BinaryIO, first: bytes) -> Opened:
    """Return the file as UTF-8 or a superset of ASCII; the mark of its charset goes."""
    for mark, charset in _MARKS:
        if first.startswith(mark):
            stream.read(len(mark))
            recoded = codecs.EncodedFile(stream, "utf-8", charset, "replace")
            return Opened(cast("BinaryIO", recoded), 0, is_recoded=True)
    begin = len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0
    stream.read(begin)
    return Opened(stream, begin, is_recoded=False)


def advance(stream: BinaryIO, count: int) -> bool:
    """Skip so many bytes; false if the stream ends before."""
    if stream.seekable():
        stream.seek(count, 1)
        return True
    while count > 0:
        piece = stream.read(min(count, _PIECE))
        if not piece:
            return False
        count -= len(piece)
    return True


class Lines:
    """The lines of a stream, none longer than allowed."""

    def __init__(
        self,
        stream: BinaryIO,
        *,
        offset: int,
        number: int,
        most: int = LEAST_LINE_BYTES,
    ) -> None:
        self._stream = stream
        self._most = most
        self._end = offset
        self._number = number

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TextLine:
        data = self._stream.readline(self._most)
        if not data:
            raise StopIteration
        self._number += 1
        self._end += len(data)
        is_cut = len(data) == self._most and not data.endswith(b"\n")
        is_whole = self._skip_line() if is_cut else data.endswith(b"\n")
        return TextLine(data, self._number, self._end, is_whole, is_cut)

    def _skip_line(self) -> bool:
        """Read on to the end of a line that is too long to be kept."""
        while piece := self._stream.readline(_PIECE):
            self._end += len(piece)
            if piece.endswith(b"\n"):
                return True
        return False


def _as_guess(exc: UnicodeError) -> tuple[str, int]:
    assert isinstance(exc, UnicodeDecodeError)
    return exc.object[exc.start : exc.end].decode(GUESS, "replace"), exc.end


codecs.register_error("logchord-guess", _as_guess)


class AsUTF8:
    """A stream whose bytes that are no UTF-8 are read as cp1252 (AD-15)."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("logchord-guess")
        # Whether the last piece held such bytes.
        self.has_guessed = False

    def read(self, size: int = -1, /) -> bytes:
        """Return about so many bytes, characters never cut in two."""
        if size == 0:
            return b""
        self.has_guessed = False
        while piece := self._stream.read(size):
            pending = self._decoder.getstate()[0]
            try:
                (pending + piece).decode("utf-8")
            except UnicodeDecodeError as exc:
                self.has_guessed = exc.reason != "unexpected end of data"
            else:
                self._decoder.reset()
                return pending + piece
            if text := self._decoder.decode(piece):
                return text.encode("utf-8")
        return self._decoder.decode(b"", final=True).encode("utf-8")
