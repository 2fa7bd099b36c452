"""HTML as a row of marks and texts: one pass over whatever somebody sent."""

import functools
import html as entities
import re
from collections.abc import Iterator

Attributes = dict[str, str]
# What it is, the text or the element's name, its attributes. A tuple, for there are
# as many of them as marks.
Mark = tuple[int, str, Attributes]
TEXT, OPENS, CLOSES = range(3)

_MOST_ATTRIBUTES = 64

# Every quantifier is possessive, or meets no more than it consumes: one pass.
_NAME = r"[A-Za-z][A-Za-z0-9_-]*+(?::[A-Za-z0-9_-]++)?(?=[\s/>])"
_MARK = re.compile(rf"<(?:(/?)({_NAME})|!|\?)")
_CLOSED = re.compile(rf"</({_NAME})")
_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:([^\s/>=\"'][^\s/>=]*+)"
    r"(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?|[=\"'])"
)
_TAG_END = re.compile(r"[\s/]*+>")
# No more digits than any character's number has: Python limits what it converts.
_NUMBER = r"&#[0-9]{1,7}(?![0-9]);?|&#[xX][0-9a-fA-F]{1,6}(?![0-9a-fA-F]);?"
_ENTITY = re.compile(rf"{_NUMBER}|&[A-Za-z][A-Za-z0-9]{{1,31}};?")
# In an address `&copy=1` is a parameter.
_ENTITY_OF_ADDRESS = re.compile(rf"{_NUMBER}|&[A-Za-z][A-Za-z0-9]{{1,31}};")
# They change how a text looks, not what it says; most of all marks are of these.
_LOOKS = re.compile(
    r"</?(?:b|i|u|em|strong|span|font|small|big|tt|code|kbd|samp|var|o:p)"
    r"(?:\s[^<>\"']*+(?:\"[^<>\"]*+\"[^<>\"']*+)?)?>",
    re.IGNORECASE,
)

# Their text is for machines. One without an end hides the rest, as in a browser;
# but the first two are also what people forget to close.
_UNREAD = {
    name: re.compile(rf"</{name}(?=[\s/>])[^>]*+>", re.IGNORECASE)
    for name in ("title", "template", "script", "style")
}
_ENDLESS = frozenset({"script", "style"})
ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym address area article aside audio b base basefont bdi bdo big"
        " blink blockquote body br button canvas caption center cite code col colgroup"
        " data datalist dd del details dfn dialog dir div dl dt em embed fieldset"
        " figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head"
        " header hr html i iframe image img input ins kbd label legend li link listing"
        " main map mark marquee menu meta meter nav nobr noframes noscript object ol"
        " optgroup option output p param picture pre progress q rp rt ruby s samp"
        " section select small source span strike strong sub summary sup svg table"
        " tbody td textarea tfoot th thead time tr track tt u ul var video wbr xmp",
    )
)


def marks(html: str) -> Iterator[Mark]:
    """Yield what stands in the page, in its order; total, and linear in its length.

    Texts are decoded. Elements that only change how it looks are left out.
    """
    return _TagWalk(_LOOKS.sub("", html)).marks()


def unescape(text: str) -> str:
    """Return the text with its entities decoded once, those that there are."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda found: entities.unescape(found[0]), text)


def unescape_address(text: str) -> str:
    """Return an address with its entities decoded; its parameters are no entities."""
    if "&" not in text:
        return text
    return _ENTITY_OF_ADDRESS.sub(lambda found: entities.unescape(found[0]), text)


class _TagWalk:
    """The place in a page, and searches that need not be made twice."""

    def __init__(self, html: str) -> None:
        self._html = html
        # Up to here quotation marks have led nowhere.
        self._unquoted = 0
        # What does not come any more.
        self._absent: set[str] = set()

    @functools.cached_property
    def _closed(self) -> frozenset[str]:
        """Custom elements that are closed somewhere in this page."""
        return frozenset(name.lower() for name in _CLOSED.findall(self._html))

    def marks(self) -> Iterator[Mark]:
        html, search = self._html, _MARK.search
        place = begin = 0
        while (match := search(html, place)) is not None:
            start = match.start()
            end, mark = self._mark(match)
            if end > start:
                if start > begin:
                    yield TEXT, unescape(html[begin:start]), {}
                if mark is not None:
                    yield mark
                begin = place = end
            else:
                # No mark after all: it stays in the text around it.
                place = match.end()
        if begin < len(html):
            yield TEXT, unescape(html[begin:]), {}

    def _mark(self, match: re.Match[str]) -> tuple[int, Mark | None]:
        """Return where the mark ends, its start if it is none, and what it says."""
        name = match[2]
        if name is None:
            return self._declaration(match.start(), match.end())
        name = name.lower()
        is_known = name in ELEMENTS or name in _UNREAD
        if not is_known and (name.isalnum() or "_" in name):
            # No element of HTML: a name that somebody has put into brackets.
            return match.start(), None
        end, found = self._tag(match.end())
        if not is_known and name not in self._closed and self._html[end - 2] != "/":
            # Office and web components close theirs, `<SR-C03>` and `<SR:C03>` do not.
            return match.start(), None
        if match[1]:
            return end, (CLOSES, name, {})
        if end and name in _UNREAD:
            return self._after(name, end), None
        return end, (OPENS, name, found)

    def _tag(self, place: int) -> tuple[int, Attributes]:
        """Return where the tag ends, 0 if nowhere, and its attributes."""
        html = self._html
        if html[place] == ">":
            return place + 1, {}
        found: Attributes = {}
        begin = place
        for _ in range(_MOST_ATTRIBUTES if place >= self._unquoted else 0):
            match = _ATTRIBUTE.match(html, place)
            if match is None:
                break
            place = match.end()
            name, *values = match.groups()
            if name is not None:
                value = next((one for one in values if one is not None), "")
                # One that nobody closes ends with the word.
                found.setdefault(name.lower(), value.lstrip("\"'"))
        end = _TAG_END.match(html, place)
        if end is not None:
            return end.end(), found
        # Quotation marks that never close, most likely: it ends where any tag does.
        # What was looked at in vain is not looked at again, or this would take forever.
        self._unquoted = max(self._unquoted, place)
        return self._find(">", begin) + 1, found

    def _declaration(self, start: int, place: int) -> tuple[int, Mark | None]:
        html = self._html
        if html.startswith("<!--", start):
            # One that nobody closes hides nothing.
            end = self._find("-->", place)
            return (end + 3 if end >= 0 else start + 4), None
        if html.startswith("<![CDATA[", start):
            end = self._find("]]>", place)
            if end >= 0:
                return end + 3, (TEXT, html[start + 9 : end], {})
        return self._find(">", place) + 1, None

    def _after(self, name: str, place: int) -> int:
        """Return where an element ends whose text is for machines."""
        if name not in self._absent:
            end = _UNREAD[name].search(self._html, place)
            if end is not None:
                return end.end()
            self._absent.add(name)
        return len(self._html) if name in _ENDLESS else place

    def _find(self, wanted: str, place: int) -> int:
        """Return where it comes next, or -1; sought in vain once, it stays away."""
        if wanted in self._absent:
            return -1
        found = self._html.find(wanted, place)
        if found < 0:
            self._absent.add(wanted)
        return found
