"""The text of office documents: what people typed, read as a stream of XML.

No tree is built and nothing is unpacked to a file, so that a document costs the memory
of its text, however its parts are nested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import ClassVar
from zipfile import ZipInfo

from defusedxml.ElementTree import DefusedXMLParser

from shared.enrich.attachments.archive import Archive

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."

Add = Callable[[str], None]

_WORD_PARTS = re.compile(r"word/(document|footnotes|endnotes|comments)\.xml")
_SLIDE_PARTS = re.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide)([0-9]{1,6})\.xml"
)
_SHEET_PARTS = re.compile(r"xl/worksheets/sheet([0-9]{1,6})\.xml")
# The last column of a sheet is XFD; no row is filled up so far.
_MOST_LETTERS, _MOST_COLUMNS = 3, 200
_SHARED_STRINGS, _STYLES = "xl/sharedStrings.xml", "xl/styles.xml"
_WORKBOOK = "xl/workbook.xml"
_MIMETYPE = "mimetype"
_PARAGRAPHS = frozenset({"p", "h"})


def media_type(archive: Archive) -> str | None:
    """Return which document an archive is, by its parts; None: only an archive."""
    names = {member.filename: member for member in archive.members}
    for part, found in (
        ("word/document.xml", DOCX),
        ("xl/workbook.xml", XLSX),
        ("ppt/presentation.xml", PPTX),
    ):
        if part in names:
            return found
    if _MIMETYPE in names:
        said = b"".join(archive.pieces(names[_MIMETYPE]))[:100].decode(
            "ascii", "replace"
        )
        if said.startswith(_OPEN_DOCUMENT):
            return said.strip()
    return None


def read_document(archive: Archive, kind: str, add: Add) -> None:
    """Hand on the text of a document, piece by piece."""
    members = {member.filename: member for member in archive.members}
    if kind == XLSX:
        _read_sheets(archive, members, add)
        return
    # OpenXML's texts stand in runs, OpenDocument's in the paragraphs themselves.
    holders = frozenset({"t"}) if kind in {DOCX, PPTX} else _PARAGRAPHS
    for name in _parts(members, kind):
        _feed(archive, members[name], _Paragraphs(add, holders))
        add("\n")


def _parts(members: Mapping[str, ZipInfo], kind: str) -> list[str]:
    if kind == DOCX:
        return sorted(name for name in members if _WORD_PARTS.fullmatch(name))
    if kind == PPTX:
        found = {name: _SLIDE_PARTS.fullmatch(name) for name in members}
        numbered = [(int(one[1]), name) for name, one in found.items() if one]
        return [name for _, name in sorted(numbered)]
    return ["content.xml"] if "content.xml" in members else []


def _read_sheets(archive: Archive, members: Mapping[str, ZipInfo], add: Add) -> None:
    strings, styles = _Strings(), _Styles()
    for part, target in (
        (_SHARED_STRINGS, strings),
        (_STYLES, styles),
        (_WORKBOOK, styles),
    ):
        if part in members:
            _feed(archive, members[part], target)
    found = {name: _SHEET_PARTS.fullmatch(name) for name in members}
    for _, name in sorted((int(one[1]), name) for name, one in found.items() if one):
        _feed(archive, members[name], _Cells(strings.found, styles, add))
        add("\n")


def _feed(archive: Archive, member: ZipInfo, target: _Target) -> None:
    # Entities and external references raise: a document has no use for them.
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    for piece in archive.pieces(member):
        parser.feed(piece)
    parser.close()


class _Target:
    """What the parser tells of a document, by local names."""

    # The attributes of the element that has just begun.
    attributes: Mapping[str, str] = MappingProxyType({})

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Keep the attributes of a new element and open it by its local name."""
        self.attributes = attributes
        self.opened(tag.rpartition("}")[2])

    def end(self, tag: str) -> None:
        """End an element."""
        self.closed(tag.rpartition("}")[2])

    def data(self, text: str) -> None:
        """Take a piece of text."""

    def close(self) -> None:
        """Take the end."""

    def opened(self, name: str) -> None:
        """Begin an element of this name."""

    def closed(self, name: str) -> None:
        """End an element of this name."""


class _Paragraphs(_Target):
    """Texts of Word, PowerPoint and OpenDocument; a row of a table is one line."""

    _TABLE_CELLS = frozenset({"tc", "table-cell"})
    _TABLE_ROWS = frozenset({"tr", "table-row"})
    _BETWEEN: ClassVar = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n"}

    def __init__(self, add: Add, holders: frozenset[str]) -> None:
        self._add = add
        self._holders = holders
        self._texts = self._cells = self._tab_stops = 0

    def opened(self, name: str) -> None:
        """Begin to listen, or add what an empty element stands for."""
        self._texts += name in self._holders
        self._cells += name in self._TABLE_CELLS
        self._tab_stops += name == "tabs"
        if name in self._BETWEEN and not self._tab_stops:
            self._add(self._BETWEEN[name])
        elif name == "s" and self._texts:
            self._add(" ")

    def closed(self, name: str) -> None:
        """End a line, a cell or a row where one ends."""
        self._texts -= name in self._holders
        self._cells -= name in self._TABLE_CELLS
        self._tab_stops -= name == "tabs"
        if name in self._TABLE_CELLS:
            self._add("\t")
        elif name in self._TABLE_ROWS:
            self._add("\n")
        elif name in _PARAGRAPHS:
            self._add(" " if self._cells else "\n")

    def data(self, text: str) -> None:
        """Take what stands in a text."""
        if self._texts:
            self._add(text)


class _Strings(_Target):
    """The texts that the cells of a workbook name by their number."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._parts: list[str] = []
        self._is_text = False
        # How a text is pronounced is none of it.
        self._is_reading = False

    def opened(self, name: str) -> None:
        """Begin a string, or a text within one."""
        if name == "si":
            self._parts = []
        self._is_reading |= name == "rPh"
        self._is_text = name == "t" and not self._is_reading

    def closed(self, name: str) -> None:
        """Keep a string that has ended."""
        self._is_text = False
        self._is_reading &= name != "rPh"
        if name == "si":
            self.found.append("".join(self._parts))

    def data(self, text: str) -> None:
        """Take what stands in a text."""
        if self._is_text:
            self._parts.append(text)


class _Styles(_Target):
    """How a workbook shows numbers: which styles of cells show them as dates."""

    def __init__(self) -> None:
        # By the number of the style.
        self.dates: list[bool] = []
        self.is_from_1904 = False
        self._codes: dict[str, str] = {}
        self._is_of_cells = False

    def opened(self, name: str) -> None:
        """Take a format, a style of cells, or from when a workbook counts days."""
        said = self.attributes
        if name == "numFmt":
            self._codes[said.get("numFmtId", "")] = said.get("formatCode", "")
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            number = said.get("numFmtId", "")
            code = self._codes.get(number)
            known = int(number) if number.isdecimal() else 0
            self.dates.append(is_date_format(known, code))
        elif name == "workbookPr":
            self.is_from_1904 = said.get("date1904") in {"1", "true"}

    def closed(self, name: str) -> None:
        """End the styles of cells."""
        self._is_of_cells &= name != "cellXfs"


class _Cells(_Target):
    """The cells of a sheet: a line for each row, a tab between two cells."""

    def __init__(self, strings: list[str], styles: _Styles, add: Add) -> None:
        self._strings = strings
        self._styles = styles
        self._add = add
        self._kind = self._style = ""
        self._column = 0
        self._is_value = False
        self._value = ""
        self._row: list[str] = []

    def opened(self, name: str) -> None:
        """Begin a row, a cell or a value."""
        if name == "row":
            self._row = []
        elif name == "c":
            self._kind = self.attributes.get("t", "")
            self._style = self.attributes.get("s", "")
            self._column = _column(self.attributes.get("r", ""))
            self._value = ""
        self._is_value = name in {"v", "t"}

    def closed(self, name: str) -> None:
        """Keep a cell, or hand on a row."""
        self._is_value = False
        if name == "c" and self._value:
            # What is empty is not written, and a value stands under its own heading.
            self._row += [""] * (self._column - len(self._row))
            self._row.append(self._shown())
        elif name == "row" and self._row:
            self._add("\t".join(self._row) + "\n")

    def data(self, text: str) -> None:
        """Take what stands in a value."""
        if self._is_value:
            self._value += text

    def _shown(self) -> str:
        if self._kind in {"", "n"}:
            style = int(self._style) if self._style.isdecimal() else -1
            if 0 <= style < len(dates := self._styles.dates) and dates[style]:
                from_1904 = self._styles.is_from_1904
                return say_date(self._value, is_from_1904=from_1904)
        if self._kind != "s":
            return self._value
        place = int(self._value) if self._value.isdecimal() else -1
        return self._strings[place] if 0 <= place < len(self._strings) else ""


def _column(place: str) -> int:
    """Return the number of the column of a cell, `C7`, from 0; far ones are near."""
    number = 0
    for letter in place[:_MOST_LETTERS].rstrip("0123456789"):
        number = number * 26 + ord(letter) - ord("A") + 1
    return max(0, min(number, _MOST_COLUMNS) - 1)


# Numbers of formats that every workbook has and none writes down.
_KNOWN_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(50, 59)})
# What a format shows as it stands: `"days"`, `\d`, `[Red]`; `[h]` counts hours.
_SHOWN_AS_IS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_COUNTED = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_OF_A_DATE = re.compile("[ymdhs]", re.IGNORECASE)
# Day 60 is one that never was, so that the days count from one before the first.
_BEGINNING = datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet knows no zone
_BEGINNING_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_AFTER_LAST = 2_958_466


def is_date_format(number: int, code: str | None) -> bool:
    """Tell whether a format, by its code if it has one, shows a date or a time."""
    if code is None:
        return number in _KNOWN_FORMATS
    first = code.partition(";")[0]
    if _COUNTED.search(first):
        return False
    return bool(_OF_A_DATE.search(_SHOWN_AS_IS.sub("", first)))


def say_date(value: str, *, is_from_1904: bool) -> str:
    """Return a number of days as a date, a time or both; what is none as it stands."""
    try:
        days = float(value)
    except ValueError:
        return value
    if not 0 <= days < _AFTER_LAST:
        return value
    begins = _BEGINNING_1904 if is_from_1904 else _BEGINNING
    try:
        at = begins + timedelta(seconds=round(days * 86_400))
    except OverflowError:
        # The last moment of all, rounded up, or days from 1904 that are too many.
        return value
    clock = at.strftime("%H:%M:%S").removesuffix(":00")
    if days < 1:
        return clock
    return f"{at:%Y-%m-%d}" if clock == "00:00" else f"{at:%Y-%m-%d} {clock}"
