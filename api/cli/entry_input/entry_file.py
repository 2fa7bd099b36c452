"""Entries out of a file: JSON, JSON lines or CSV, told apart by what it begins with."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TextIO

from api.cli.output import UsageError
from shared.errors import InvalidRequestError
from shared.text import door

# In a CSV file these cells hold several values.
_LISTS = frozenset({"authors", "logbooks", "tags", "readers"})
_LIST_MARK = ";"
_METADATA = "metadata."
_MAX_CELL_CHARS = 1_000_000
_NO_HEADER = "The first line of a CSV file names its columns; one is `text`."


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One entry and where it stands; or why nothing can be made of that place."""

    place: str
    entry: dict[str, Any] | None
    problem: str | None = None


def rows(stream: TextIO, name: str) -> Iterator[FileEntry]:
    """Yield the entries of a file, of any length, in their order."""
    first, begin, lines = _first_line(stream)
    start = first.lstrip("\ufeff \t\r\n")
    if not start:
        return iter(())
    lines = chain([start], lines)
    if name.endswith((".csv", ".tsv")) or start[0] not in "[{":
        return _from_csv(lines, "\t" if name.endswith(".tsv") else ",", begin)
    if name.endswith((".jsonl", ".ndjson")) or (start[0] == "{" and _is_json(start)):
        return _from_lines(lines, begin)
    return _from_document("".join(lines))


def _first_line(stream: TextIO) -> tuple[str, int, Iterator[str]]:
    """Return the first line that is not blank, its number, and the rest."""
    lines = iter(stream)
    for number, line in enumerate(lines, 1):
        if line.strip("\ufeff \t\r\n"):
            return line, number, lines
    return "", 1, lines


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _from_lines(lines: Iterator[str], begin: int) -> Iterator[FileEntry]:
    for number, line in enumerate(lines, begin):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            value = _parsed(line)
        except InvalidRequestError as exc:
            yield FileEntry(place, None, exc.message)
            continue
        yield from _rows_of(value, place)


def _from_document(text: str) -> Iterator[FileEntry]:
    try:
        value = _parsed(text)
    except InvalidRequestError as exc:
        raise UsageError(exc.message) from exc
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield from _rows_of(item, f"entry {number}")


def _rows_of(value: Any, place: str) -> Iterator[FileEntry]:
    if not isinstance(value, dict):
        yield FileEntry(place, None, "This is no JSON object.")
    elif isinstance(value.get("entries"), list):
        for number, item in enumerate(value["entries"], 1):
            yield from _rows_of(item, f"{place}, entry {number}")
    else:
        yield FileEntry(place, value)


def _parsed(text: str) -> Any:
    # As strict as the API, so that a bad line is told by its place in the file.
    return door.parse_json(text.encode("utf-8", "surrogateescape"))


def _from_csv(lines: Iterator[str], delimiter: str, begin: int) -> Iterator[FileEntry]:
    csv.field_size_limit(_MAX_CELL_CHARS)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = next(reader)
    except csv.Error as exc:
        raise UsageError(f"{_NO_HEADER} It is no CSV: {exc}.") from exc
    if "text" not in names:
        raise UsageError(_NO_HEADER)
    while True:
        place = f"line {begin + reader.line_num}"
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            # Quotes are wrong, so that what follows may be lines of this very row.
            problem = f"This is no CSV: {exc}. Nothing behind it was read."
            yield FileEntry(place, None, problem)
            return
        if cells is None:
            return
        if cells:
            yield _from_cells(names, cells, place)


def _from_cells(names: list[str], cells: list[str], place: str) -> FileEntry:
    if len(cells) != len(names):
        return FileEntry(
            place, None, "This line has more or fewer cells than the first."
        )
    row = dict(zip(names, cells, strict=True))
    entry: dict[str, Any] = {"text": row.pop("text")}
    metadata: dict[str, str] = {}
    for name, cell in row.items():
        if cell == "":
            continue
        if name.startswith(_METADATA):
            metadata[name.removeprefix(_METADATA)] = cell
        elif name in _LISTS:
            entry[name] = [one.strip() for one in cell.split(_LIST_MARK) if one.strip()]
        else:
            entry[name] = cell
    if metadata:
        entry["metadata"] = metadata
    return FileEntry(place, entry)
