"""Tables in a text: rows of cells, and what stands above each of their columns.

Cells are parted by `|`, by tabs, or, one row under the other, by blanks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# In a text without one of these there is no table.
_APART = re.compile(r"(?<=[^\s.!?:;]) {2,}(?=\S)")
_BLANKS = re.compile(r"\S(?:[^ ]| (?! ))*")
_LINE = re.compile(r"[^\n]+")
# A line of nothing else parts rows.
_RULES = "|-+:= \t\r"
_VALUE = re.compile(
    r"[<>~\u2248\u2264\u2265\u00b1]?\s?[-+\u2212]?[.,]?\d[\d.,:/eE+-]*(?!\w)"
)
# What is longer is no name of a column.
LONGEST_NAME = 80
# The fewest rows by separator: two lines parted by blanks may look alike by chance.
_LEAST_ROWS = {"|": 2, "\t": 2, " ": 3}
_LEAST_CELLS = 2


class Cell(NamedTuple):
    """Where in its text a cell stands, without the blanks around it."""

    start: int
    end: int


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of a text; one whose first row has values has no header."""

    header: Row
    # Without the header.
    rows: tuple[Row, ...]
    start: int
    # Where the rows begin.
    body: int
    end: int


def find_tables(text: str) -> list[Grid]:
    """Return the tables of a text in order; total, and linear in its length."""
    if "|" not in text and "\t" not in text and not _APART.search(text):
        return []
    return [grid for part in _parts(text) if (grid := _grid(text, part)) is not None]


class _TableLine(NamedTuple):
    start: int
    end: int
    # What parts its cells.
    by: str


def is_value(cell: str) -> bool:
    """Tell whether a cell begins with a number, as no column's name does."""
    return _VALUE.match(cell) is not None


def _parts(text: str) -> Iterator[list[_TableLine]]:
    """Yield lines in a row whose cells are parted by the same."""
    part: list[_TableLine] = []
    last = 0
    for match in _LINE.finditer(text):
        line = match[0]
        by = _parted_by(line)
        is_next = match.start() == last + 1
        last = match.end()
        if part and is_next and not line.strip(_RULES) and ("-" in line or "=" in line):
            continue
        if part and not (is_next and by == part[0].by):
            yield part
            part = []
        if by:
            part.append(_TableLine(match.start(), match.end(), by))
    if part:
        yield part


def _parted_by(line: str) -> str:
    if not line.strip(_RULES):
        return ""
    if "|" in line:
        return "|"
    if "\t" in line.strip():
        return "\t"
    return " " if _APART.search(line) else ""


def _grid(text: str, lines: Sequence[_TableLine]) -> Grid | None:
    by = lines[0].by
    if len(lines) < _LEAST_ROWS[by]:
        return None
    rows = _without_edges([_cells(text, line) for line in lines])
    if max(map(len, rows)) < _LEAST_CELLS or (by == " " and not _is_even(text, rows)):
        return None
    start, end = lines[0].start, lines[-1].end
    if _is_header(text, rows[0]):
        return Grid(rows[0], tuple(rows[1:]), start, lines[1].start, end)
    return Grid((), tuple(rows), start, start, end)


def _cells(text: str, line: _TableLine) -> Row:
    if line.by == " ":
        said = text[line.start : line.end].rstrip()
        return tuple(
            Cell(line.start + one.start(), line.start + one.end())
            for one in _BLANKS.finditer(said)
        )
    cells = []
    start = line.start
    for part in text[line.start : line.end].split(line.by):
        bare = part.strip()
        begin = start + len(part) - len(part.lstrip()) if bare else start
        cells.append(Cell(begin, begin + len(bare)))
        start += len(part) + 1
    return tuple(cells)


def _without_edges(rows: list[Row]) -> list[Row]:
    """Return rows without what stands outside of the first and the last `|`."""
    if all(row and row[0].start == row[0].end for row in rows):
        rows = [row[1:] for row in rows]
    if all(row and row[-1].start == row[-1].end for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def _is_even(text: str, rows: Sequence[Row]) -> bool:
    """Tell whether lines are rows: as many cells in each, and numbers among them."""
    wide = len(rows[0])
    if any(len(row) != wide for row in rows):
        return False
    return any(
        all(is_value(text[row[place].start : row[place].end]) for row in rows[1:])
        for place in range(wide)
    )


def _is_header(text: str, row: Row) -> bool:
    """Tell whether a first row has names of columns, and no values."""
    names = [text[cell.start : cell.end] for cell in row if cell.start < cell.end]
    return len(names) >= _LEAST_CELLS and not any(
        len(name) > LONGEST_NAME or is_value(name) for name in names
    )
