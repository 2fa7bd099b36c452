"""Rows of delimited text as people and programs really write them."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from shared.errors import IngestionError
from shared.text import decoding
from workers.adapters.files.file_progress import FileMark, Record
from workers.adapters.files.utf8_text import (
    LEAST_LINE_BYTES,
    OVERSIZED_KEPT,
    Lines,
    TextLine,
    beginning,
)

# A quote that was never closed may meet another, of a later row. A field of more lines
# than these is none if most of them would be rows.
_FEW_LINES = 256
_SETTLED_AFTER = timedelta(seconds=60)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNCLOSED = "unexpected end of data"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields are separated and quoted."""

    delimiter: str = ","
    quotechar: str = '"'
    encoding: str | None = None
    # Column names for a file without a header line.
    header: tuple[str, ...] = ()

    def strictly(self, text: str) -> list[str] | None:
        """Return the fields as they are defined, or None where they are not.

        Raises csv.Error where a quoted field is still open at the end.
        """
        try:
            rows = list(
                csv.reader(
                    [text],
                    strict=True,
                    delimiter=self.delimiter,
                    quotechar=self.quotechar,
                )
            )
        except csv.Error as exc:
            if str(exc) == _UNCLOSED:
                raise
            return None
        return rows[0] if len(rows) == 1 else None

    def leniently(self, text: str) -> list[str] | None:
        """Return the fields as spreadsheets would guess them."""
        try:
            rows = csv.reader(
                [text], delimiter=self.delimiter, quotechar=self.quotechar
            )
            return next(rows, None)
        except csv.Error:
            return None

    def literally(self, text: str) -> list[str]:
        """Return the fields of a line whose quotes mean nothing."""
        return text.rstrip("\r\n").split(self.delimiter)


class CSVForm:
    """Reads rows under the names of their header; unreadable ones are kept as bytes."""

    def __init__(
        self,
        dialect: Dialect,
        now: Callable[[], datetime],
        most_line: int = LEAST_LINE_BYTES,
    ) -> None:
        self._dialect = dialect
        self._now = now
        self._most_line = most_line
        # The reader's own limit is 128 KiB, one for the whole process, and an error
        # in the middle of a file.
        csv.field_size_limit(max(csv.field_size_limit(), most_line))

    def grows(self, name: str, first: bytes) -> bool:  # noqa: ARG002 - none does
        """Tell that a changed file is read again, for its rows may change too."""
        return False

    def records(
        self,
        name: str,  # noqa: ARG002 - every name is read alike
        stream: BinaryIO,
        first: bytes,
        start: FileMark,
    ) -> Iterator[Record | None]:
        """Yield the rows as objects; a last one without its end waits for a minute."""
        stream, begin, _ = beginning(stream, first)
        most = self._most_line
        lines = Lines(stream, offset=begin, number=0, most=most)
        rows = _Rows(lines, self._dialect, most)
        header: list[str] = list(self._dialect.header)
        rows.width = len(header)
        rested = self._now() - (_EPOCH + timedelta(microseconds=start.mtime_ns // 1000))
        for row in rows:
            if not row.is_whole and rested < _SETTLED_AFTER:
                yield None
                return
            if not header:
                header = _names(row.fields)
                rows.width = len(header)
            elif row.fields is None:
                yield Record(
                    row.data, row.line, media_type="text/csv", size=len(row.data)
                )
            elif _clean(row.fields) != header:
                # Zip ends with the header: what is beyond it is empty.
                value = dict(zip(header, row.fields, strict=False))
                size = len(row.data)
                yield Record(value, row.line, charset=row.charset, size=size)
        if not header:
            if rested < _SETTLED_AFTER:
                yield None
                return
            message = "A file of rows has no header."
            raise IngestionError(message, reason="unexpected_shape")


@dataclass(frozen=True, slots=True)
class _CsvRow:
    fields: list[str] | None
    data: bytes
    line: int
    charset: str | None
    is_whole: bool


class _Ahead:
    """Lines that may be looked at and given back, as bytes.

    A line as an object takes a hundred times as much where it is empty.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        # What was given back, and a line that is too long, which comes behind it.
        self._again = io.BytesIO()
        self._held: TextLine | None = None
        self._number = 0
        self._is_fresh = False

    def next(self) -> TextLine | None:
        """Return the next line, or None behind the last."""
        data = self._again.readline()
        if data:
            self._number += 1
            return TextLine(data, self._number, 0, data.endswith(b"\n"), is_cut=False)
        self._is_fresh = True
        line, self._held = self._held or next(self._lines, None), None
        self._number = line.number if line else self._number
        return line

    def mark(self) -> None:
        """Begin to look ahead."""
        self._is_fresh = False

    def give_back(self, data: bytes, count: int, cut: TextLine | None) -> None:
        """Return to the mark, so that its lines come once more."""
        self._number -= count + (cut is not None)
        self._held = cut or self._held
        if self._is_fresh:
            # All that was there before is in it: it was read to its end.
            self._again = io.BytesIO(data)
        else:
            self._again.seek(-len(data), io.SEEK_CUR)


class _Rows:
    """The rows of some lines: a quoted field may hold line ends, within bounds."""

    def __init__(self, lines: Lines, dialect: Dialect, most: int) -> None:
        self._lines = _Ahead(lines)
        self._most = most
        self._dialect = dialect
        self.width = 0

    def __iter__(self) -> Iterator[_CsvRow]:
        while line := self._lines.next():
            if not line.data.strip():
                continue
            text, charset = self._text(line.data)
            if line.is_cut:
                fields, data = None, line.data[:OVERSIZED_KEPT]
            elif self._dialect.quotechar not in text:
                fields, data = self._dialect.literally(text), line.data
            else:
                fields, data = self._quoted(line, text)
            yield _CsvRow(
                self._fitting(fields), data, line.number, charset, line.is_whole
            )

    def _quoted(self, line: TextLine, text: str) -> tuple[list[str] | None, bytes]:
        try:
            fields = self._dialect.strictly(text)
        except csv.Error:
            found = self._spanning(line, text)
            if found is not None:
                return found
            fields = None
        readings = (fields, self._dialect.literally(text))
        for each in readings:
            if each is not None and self._fitting(each) is not None:
                return each, line.data
        return self._dialect.leniently(text), line.data

    def _spanning(self, line: TextLine, text: str) -> tuple[list[str], bytes] | None:
        """Return a row over several lines; None where its quote is never closed.

        It may be as long as a line. What was looked at then comes again, line by line;
        a quote ends the search of the one before, so that nothing is looked at often.
        """
        behind, whole = bytearray(), io.StringIO()
        whole.write(text)
        quotes, count, alike = text.count(self._dialect.quotechar), 0, 0
        cut = None
        self._lines.mark()
        while quotes % 2 and len(line.data) + len(behind) < self._most:
            following = self._lines.next()
            if following is None:
                break
            if following.is_cut:
                cut = following
                break
            more, _ = self._text(following.data)
            behind += following.data
            whole.write(more)
            count += 1
            quotes += more.count(self._dialect.quotechar)
            # With more columns it may be a row, too: of empty ones, or with commas.
            alike += 1 < self.width <= more.count(self._dialect.delimiter) + 1
        if cut is None and (count <= _FEW_LINES or 2 * alike <= count):
            try:
                fields = self._dialect.strictly(whole.getvalue())
            except csv.Error:
                fields = None
            if fields is not None and self._fitting(fields) is not None:
                return fields, line.data + behind
        self._lines.give_back(bytes(behind), count, cut)
        return None

    def _fitting(self, fields: list[str] | None) -> list[str] | None:
        """Return fields that are as many as the header has; empty ones may follow."""
        if fields is None or not self.width:
            return fields
        is_right = len(fields) >= self.width and not any(fields[self.width :])
        return fields if is_right else None

    def _text(self, data: bytes) -> tuple[str, str | None]:
        try:
            return data.decode("utf-8"), None
        except UnicodeDecodeError:
            found = decoding.decode(data, self._dialect.encoding)
            return found.text, found.charset if found.guessed else None


def _clean(fields: list[str]) -> list[str]:
    return [field.strip(" \t\r\n\"'\ufeff") for field in fields]


def _names(fields: list[str] | None) -> list[str]:
    """Return the names of a header, each of them once."""
    found: list[str] = []
    for place, name in enumerate(_clean(fields or []), 1):
        known = name or f"column {place}"
        found.append(known if known not in found else f"{known}#{place}")
    return found
