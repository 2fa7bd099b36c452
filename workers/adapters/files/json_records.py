"""JSON in files: one record a line, a list of records, or an object that holds one."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal

import ijson  # type: ignore[import-untyped]

from shared.adapter_contract.contract import RawItem
from shared.errors import IngestionError
from shared.text import decoding
from workers.adapters.files.file_progress import FileMark, Record, tail_of, whole_digest
from workers.adapters.files.utf8_text import (
    GUESS,
    LEAST_LINE_BYTES,
    OVERSIZED_KEPT,
    AsUTF8,
    Lines,
    Readable,
    beginning,
)
from workers.adapters.mapping.field_values import malformed

Shape = Literal["auto", "lines", "document"]

_LINES = re.compile(r"\.(?:jsonl|ndjson|jsonlines)(?:\.gz)?$", re.IGNORECASE)
_PIECE = 65_536
_SHOWN = 200
# NaN and its like are no JSON and cannot be stored; as words they can.
_DECODER = json.JSONDecoder(parse_constant=str)


class JSONForm:
    """Tells lines from documents, and reads either in flat memory."""

    def __init__(
        self,
        *,
        shape: Shape = "auto",
        items: str = "entries",
        most_line: int = LEAST_LINE_BYTES,
    ) -> None:
        self._shape = shape
        self._items = items
        self._most_line = most_line

    def grows(self, name: str, first: bytes) -> bool:
        """Tell whether the file is lines in UTF-8, so that places in it can be kept."""
        opened = beginning(io.BytesIO(first), first)
        return not opened.is_recoded and self._is_lines(name, opened.stream.read())

    def records(
        self, name: str, stream: BinaryIO, first: bytes, start: FileMark
    ) -> Iterator[Record | None]:
        """Yield the records from a place on."""
        begin = 0
        if not start.offset:
            stream, begin, _ = beginning(stream, first)
        sample = beginning(io.BytesIO(first), first).stream.read()
        if self._is_lines(name, sample):
            offset = start.offset or begin
            most, number = self._most_line, start.line
            lines = Lines(stream, offset=offset, number=number, most=most)
            yield from _of_lines(lines)
        elif not sample.strip():
            yield None
        else:
            is_list = sample.lstrip().startswith(b"[")
            yield from _of_document(stream, "" if is_list else self._items)

    def _is_lines(self, name: str, sample: bytes) -> bool:
        if self._shape != "auto" or _LINES.search(name):
            return self._shape != "document"
        text = sample.lstrip()
        if not text.startswith(b"{"):
            return False
        line, mark, _ = text.partition(b"\n")
        if not mark:
            key = json.dumps(self._items).encode()
            return not re.search(re.escape(key) + rb"\s*:\s*\[", line)
        value = _parsed(line)
        if value is None:
            return line.rstrip().endswith(b"}")
        return not isinstance(value.get(self._items), list)


def _of_lines(lines: Lines) -> Iterator[Record | None]:
    for line in lines:
        data = line.data
        if line.is_cut:
            yield Record(data[:OVERSIZED_KEPT], line.number, line.end, "text/plain")
            continue
        value = _parsed(data)
        if value is not None:
            yield Record(
                value,
                line.number,
                line.end,
                tail=tail_of(data),
                digest=whole_digest(data),
                size=len(data),
            )
            continue
        if not line.is_whole:
            # Only what is whole can be read, so that this half is not yet all of it.
            yield None
            return
        if data.strip():
            kind = "application/jsonl"
            yield Record(
                data, line.number, line.end, kind, tail=tail_of(data), size=len(data)
            )


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_document(stream: BinaryIO, items: str) -> Iterator[Record]:
    piece = stream.read(_PIECE)
    whole = _Chained(piece, stream)
    source = AsUTF8(whole)
    prefix = f"{items}.item" if items else "item"
    number = before = 0
    try:
        for number, value in enumerate(
            ijson.items(source, prefix, use_float=True, buf_size=_PIECE), 1
        ):
            charset = GUESS if source.has_guessed else None
            # To a piece: what was read for it, and the beginning of the next ones.
            yield Record(value, number, charset=charset, size=whole.count - before)
            before = whole.count
        if number == 0 and items and not _has_list(piece, items):
            raise _unexpected(f"It holds no list {items!r}.", piece)
    except ijson.JSONError as exc:
        raise _unexpected(f"After {number} records it is no JSON.", piece) from exc


def _has_list(piece: bytes, items: str) -> bool:
    try:
        return any(
            (prefix, event) == (items, "start_array")
            for prefix, event, _ in ijson.parse(AsUTF8(io.BytesIO(piece)))
        )
    except ijson.JSONError:
        return False


def _unexpected(message: str, piece: bytes) -> IngestionError:
    return IngestionError(
        f"A file cannot be read as it stands. {message}",
        reason="unexpected_shape",
        technical=piece[:_SHOWN].decode("utf-8", "replace"),
    )


def value_of(payload: Any, charset: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the parsed payload and the flags of its reading; never fails."""
    if not isinstance(payload, bytes | bytearray | str):
        return payload, (() if charset is None else ("charset_guess",))
    if isinstance(payload, str):
        payload = payload.encode("utf-8", "surrogatepass")
    found = decoding.decode(bytes(payload), charset)
    text = found.text
    known = {"repaired": found.repaired, "charset_guess": found.guessed}
    flags = tuple(flag for flag, holds in known.items() if holds)
    try:
        return _DECODER.decode(text), flags
    except (ValueError, RecursionError):
        return None, flags


def record_of(raw: RawItem, most_line: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the record of an item and the flags of its reading, or refuse it."""
    value, flags = value_of(raw.payload, raw.charset)
    if not isinstance(value, dict):
        if isinstance(raw.payload, bytes) and len(raw.payload) == OVERSIZED_KEPT:
            malformed("too_large", f"The line is longer than {most_line} bytes.")
        if isinstance(raw.payload, bytes) and value is None:
            malformed("not_json", "The line is no JSON.")
        malformed("wrong_type", f"A {type(value).__name__} is no record.")
    return value, flags


def guessed_charset(body: bytes, declared: str | None) -> str | None:
    """Return the charset of an answer where it had to be guessed."""
    found = decoding.decode(body, declared)
    return found.charset if found.guessed else None


class _Chained:
    """The bytes that were read already, followed by the rest."""

    def __init__(self, piece: bytes, rest: Readable) -> None:
        self._piece = piece
        self._rest = rest
        # How many bytes were read.
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes, or what was read already."""
        piece, self._piece = self._piece, b""
        data = piece or (self._rest.read(size) if size else b"")
        self.count += len(data)
        return data
