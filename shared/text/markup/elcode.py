"""The marks in square brackets of PSI's ELOG, as text to be read."""

import re

from shared.text.markup.html_tags import unescape
from shared.text.markup.link_targets import image, shown_address
from shared.text.markup.text_builder import TextSheet

# No bracket inside of brackets, so that each is looked at once.
_MARK = re.compile(
    r"\[img[^\[\]]*+\](?P<image>[^\[\]]*+)\[/img\]"
    r"|\[anchor[^\[\]]*+\][^\[\]]*+\[/anchor\]"
    r"|\[(?P<end>/?)(?P<name>code1?|list|\*|h[1-3]|url|email|quote|table|line|anchor"
    r"|img|b|i|u|center|color|size|font)(?:[= ](?P<value>[^\[\]\n]*+))?\]",
    re.IGNORECASE,
)
_END_OF_CODE = re.compile(r"\[/code1?\]", re.IGNORECASE)
# Characters that the logbook's charset lacks are kept like this, in any body.
_NUMBER = re.compile(r"&#[0-9]{2,7};")
_CELLS = re.compile(r"^[ \t]*+\|-|\|", re.MULTILINE)
# What follows begins on a line of its own, whether or not its author began one.
_BLOCKS = frozenset({"list", "*", "h1", "h2", "h3", "quote", "table", "line", "code"})


def to_text(elcode: str) -> str:
    """Return the readable text; never fails, and takes time linear in its length."""
    return _ElcodeReader(elcode.replace("\r\n", "\n").replace("\r", "\n")).read()


class _ElcodeReader:
    """A walk along an entry: its line ends count, and its marks."""

    def __init__(self, elcode: str) -> None:
        self._elcode = elcode
        self._last_end = max(
            (found.start() for found in _END_OF_CODE.finditer(elcode)), default=-1
        )
        self._page = TextSheet()
        self._tables = 0
        self._is_after_block = False

    def read(self) -> str:
        place = 0
        while match := _MARK.search(self._elcode, place):
            if match.start() > place:
                self._text(self._elcode[place : match.start()])
            place = self._mark(match)
        self._text(self._elcode[place:])
        return self._page.result()

    def _mark(self, match: re.Match[str]) -> int:
        """Act on a mark and return where it ends, with all that it makes literal."""
        name = (match["name"] or "").lower()
        value = (match["value"] or "").strip("\"' ")
        if match["image"] is not None:
            self._text(image("", unescape(match["image"])))
        elif match["end"]:
            self._close(name)
        elif name.startswith("code"):
            return self._code(match.end(), is_block=name == "code")
        elif name:
            self._open(name, value)
        if name in _BLOCKS:
            self._is_after_block = True
        return match.end()

    def _text(self, text: str) -> None:
        if self._is_after_block:
            text = text.removeprefix("\n")
            self._is_after_block = not text
        self._page.note_linked(text)
        if self._tables:
            self._cells(text)
        else:
            self._page.sheet.literal(_decoded(text))

    def _cells(self, text: str) -> None:
        place = 0
        for match in _CELLS.finditer(text):
            self._page.sheet.text(_decoded(text[place : match.start()]))
            if match[0] != "|":
                self._page.open_row()
            self._page.open_cell()
            place = match.end()
        self._page.sheet.text(_decoded(text[place:]))

    def _code(self, place: int, *, is_block: bool) -> int:
        """Write the code that begins here, and return where it ends."""
        if place > self._last_end:
            return place
        end = _END_OF_CODE.search(self._elcode, place)
        assert end is not None, "the last one lies ahead"
        code = _decoded(self._elcode[place : end.start()])
        sheet = self._page.sheet
        if is_block:
            sheet.new_line()
            code = code.removeprefix("\n").removesuffix("\n")
        sheet.literal(code)
        if is_block:
            sheet.new_line()
            self._is_after_block = True
        return end.end()

    def _open(self, name: str, value: str) -> None:
        page = self._page
        if name == "*":
            page.item()
        elif name == "list":
            page.open_list(1 if value else None)
        elif name == "quote":
            page.sheet.new_line()
            if value:
                page.sheet.text(f"{_decoded(value)} wrote:")
                page.sheet.new_line()
            page.sheet.quotes += 1
        elif name == "table":
            page.open_table()
            page.open_cell()
            self._tables += 1
        elif name == "line":
            page.sheet.rule()
        elif name in {"h1", "h2", "h3"}:
            page.sheet.paragraph()
        elif name in {"url", "email"}:
            page.open_link(shown_address(_decoded(value)))

    def _close(self, name: str) -> None:
        sheet = self._page.sheet
        if name == "list":
            self._page.close_list()
        elif name == "quote":
            sheet.new_line()
            sheet.quotes = max(0, sheet.quotes - 1)
        elif name == "table":
            self._page.close_table()
            self._tables = max(0, self._tables - 1)
        elif name in {"h1", "h2", "h3"}:
            sheet.new_line()
        elif name in {"url", "email"}:
            self._page.close_link()


def _decoded(text: str) -> str:
    if "&#" not in text:
        return text
    return _NUMBER.sub(lambda found: unescape(found[0]), text)
