"""What a chunk repeats that begins inside a table: the names of the columns."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from shared.embedding.models.encoder_contract import Encoder
from shared.text.reading import pasted_tables
from shared.text.reading.pasted_tables import Grid

# A header takes a quarter of what an encoder reads at most.
_SHARE = 4


class Header(NamedTuple):
    """What is put before a chunk for the encoder, and how many pieces that has."""

    text: str
    pieces: int


NO_HEADER = Header("", 0)


class Headers:
    """The headers of a text's tables, by place."""

    def __init__(self, text: str, encoder: Encoder) -> None:
        self._text = text
        self._encoder = encoder
        self._grids = [grid for grid in pasted_tables.find_tables(text) if grid.header]
        self._made: dict[int, Header] = {}

    def at(self, place: int) -> Header:
        """Return the header of the table whose rows a place is in, or none."""
        before = bisect_right(self._grids, place, key=attrgetter("body"))
        grid = self._grids[before - 1] if before else None
        if grid is None or place >= grid.end:
            return NO_HEADER
        if grid.start not in self._made:
            self._made[grid.start] = self._header(grid)
        return self._made[grid.start]

    def begins_row(self, place: int) -> bool:
        """Tell whether a word is the first one of its line."""
        line = self._text.rfind("\n", 0, place) + 1
        return not self._text[line:place].strip(" \t|")

    def _header(self, grid: Grid) -> Header:
        """Return as many names of columns, and whole ones, as there is room for."""
        most = self._encoder.max_tokens // _SHARE
        end, pieces = grid.header[0].start, 0
        for cell in grid.header:
            name = self._text[end : cell.end]
            more = self._encoder.count_tokens(name)
            if pieces + more > most:
                break
            end, pieces = cell.end, pieces + more
        if not pieces:
            return NO_HEADER
        return Header(f"{self._text[grid.header[0].start : end]}\n", pieces)
