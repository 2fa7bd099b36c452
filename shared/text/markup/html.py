"""HTML as text to be read: in one pass, whatever is broken or missing in it."""

import re
from collections.abc import Callable
from functools import partial

from shared.text.markup import html_tags
from shared.text.markup.html_tags import Attributes
from shared.text.markup.link_targets import file_name, shown_address
from shared.text.markup.text_builder import TextSheet

_LONGEST_NUMBER = 7
_POWER = re.compile("[-+\u22120-9]")

_LINES = re.findall(
    r"\w+",
    "address article aside body caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form header html legend main nav noscript optgroup"
    " option section select summary thead tbody tfoot",
)
_PARAGRAPHS = ("p", "h1", "h2", "h3", "h4", "h5", "h6")
_BULLETED, _LITERAL = ("dir", "menu", "ul"), ("listing", "pre", "textarea", "xmp")
_EMBEDDED = {
    "img": "image",
    "image": "image",
    "video": "video",
    "audio": "audio",
    "iframe": "frame",
    "embed": "file",
}


def to_text(html: str) -> str:
    """Return the readable text; never fails, and takes time linear in its length."""
    return _HtmlReader().read(html)


class _HtmlReader:
    """A walk along a page: marks become structure, the rest is text."""

    def __init__(self) -> None:
        self._page = TextSheet()
        self._pre = 0
        # A line end right behind `<pre>` is for whoever wrote it.
        self._is_new = False
        self._is_raised = False

    def read(self, html: str) -> str:
        for kind, value, found in html_tags.marks(html):
            if kind == html_tags.TEXT:
                self.text(value)
            elif kind == html_tags.OPENS:
                opens = _OPEN.get(value)
                if opens is not None:
                    opens(self, found)
            else:
                closes = _CLOSE.get(value)
                if closes is not None:
                    closes(self)
        return self._page.result()

    def text(self, text: str) -> None:
        if self._is_raised:
            self._is_raised = False
            # 10<sup>-6</sup> is not 10-6.
            if _POWER.match(text) and self._page.sheet.ends_in_word():
                text = f"^{text}"
        self._page.note_linked(text)
        if self._pre:
            self._page.sheet.literal(text.removeprefix("\n") if self._is_new else text)
            self._is_new = False
        else:
            self._page.sheet.text(text.replace("\xad", ""))

    # What the elements mean.

    def line(self, _: Attributes | None = None) -> None:
        self._page.sheet.new_line()

    def paragraph(self, _: Attributes | None = None) -> None:
        self._page.sheet.paragraph()

    def line_break(self, _: Attributes | None = None) -> None:
        if self._pre:
            self._page.sheet.literal("\n")
        else:
            self._page.sheet.line_break()

    def rule(self, _: Attributes) -> None:
        self._page.sheet.rule()

    def open_pre(self, _: Attributes) -> None:
        self._page.sheet.paragraph()
        self._pre += 1
        self._is_new = True

    def close_pre(self) -> None:
        if self._pre:
            self._pre -= 1
            self._page.sheet.paragraph()

    def open_quote(self, _: Attributes) -> None:
        self._page.sheet.paragraph()
        self._page.sheet.quotes += 1

    def close_quote(self) -> None:
        sheet = self._page.sheet
        sheet.new_line()
        sheet.quotes = max(0, sheet.quotes - 1)
        sheet.paragraph()

    def open_numbered(self, found: Attributes) -> None:
        self._page.open_list(_small_number(found.get("start"), 1))

    def open_bulleted(self, _: Attributes) -> None:
        self._page.open_list(None)

    def close_list(self) -> None:
        self._page.close_list()

    def item(self, found: Attributes) -> None:
        self._page.item(partial(_small_number, found.get("value")))

    def open_link(self, found: Attributes) -> None:
        address = html_tags.unescape_address(found.get("href") or "")
        self._page.open_link(shown_address(address))

    def close_link(self) -> None:
        self._page.close_link()

    def embedded(self, kind: str, found: Attributes) -> None:
        address = shown_address(html_tags.unescape_address(found.get("src") or ""))
        name = html_tags.unescape(found.get("alt") or found.get("title") or "")
        shown = f"{kind}: {' '.join(name.split()) or file_name(address)}".rstrip(": ")
        if shown != kind or kind == "image":
            self.text(f"[{shown}]")

    def table(self, _: Attributes) -> None:
        self._page.open_table()

    def row(self, _: Attributes | None = None) -> None:
        self._page.open_row()

    def cell(self, _: Attributes) -> None:
        self._page.open_cell()

    def close_table(self) -> None:
        self._page.close_table()

    def superscript(self, _: Attributes) -> None:
        self._is_raised = True


def _small_number(text: str | None, default: int) -> int:
    is_small = text is not None and len(text) < _LONGEST_NUMBER and text.isdecimal()
    return int(text) if text and is_small else default


_Open = Callable[[_HtmlReader, Attributes], None]


def _embeds(kind: str) -> _Open:
    return lambda reader, found: reader.embedded(kind, found)


_OPEN: dict[str, _Open] = {
    **dict.fromkeys(_LINES, _HtmlReader.line),
    **dict.fromkeys(_PARAGRAPHS, _HtmlReader.paragraph),
    **{name: _embeds(kind) for name, kind in _EMBEDDED.items()},
    "a": _HtmlReader.open_link,
    "blockquote": _HtmlReader.open_quote,
    "br": _HtmlReader.line_break,
    "hr": _HtmlReader.rule,
    "li": _HtmlReader.item,
    "ol": _HtmlReader.open_numbered,
    "sup": _HtmlReader.superscript,
    "table": _HtmlReader.table,
    "td": _HtmlReader.cell,
    "th": _HtmlReader.cell,
    "tr": _HtmlReader.row,
    **dict.fromkeys(_BULLETED, _HtmlReader.open_bulleted),
    **dict.fromkeys(_LITERAL, _HtmlReader.open_pre),
}
_CLOSE: dict[str, Callable[[_HtmlReader], None]] = {
    **dict.fromkeys(_LINES, _HtmlReader.line),
    **dict.fromkeys(_PARAGRAPHS, _HtmlReader.paragraph),
    "a": _HtmlReader.close_link,
    "blockquote": _HtmlReader.close_quote,
    "br": _HtmlReader.line_break,
    "li": _HtmlReader.line,
    "table": _HtmlReader.close_table,
    "tr": _HtmlReader.row,
    **dict.fromkeys((*_BULLETED, "ol"), _HtmlReader.close_list),
    **dict.fromkeys(_LITERAL, _HtmlReader.close_pre),
}
