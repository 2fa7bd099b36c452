"""A feed's document, cut into its items: RSS 2.0, RSS 1.0 and Atom.

Items are cut out of the bytes, not out of a tree: each is decoded by itself, so that
a wrong byte, or a broken tag, costs the item that it stands in and no other.
"""

import html.entities
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import defusedxml
from defusedxml import ElementTree

from shared.errors import IngestionError, MalformedEntryError
from shared.text import decoding

ATOM = "http://www.w3.org/2005/Atom"
TOMBSTONES = "http://purl.org/atompub/tombstones/1.0"
XML = "http://www.w3.org/XML/1998/namespace"

_SHOWN = 200
# Reading a tree costs by its tags, whatever the size: these take 50 ms.
_MAX_MARKS = 30_000
_FEED, _CHANNEL = "feed", "channel"
_ROOTS = {"rss", "RDF", _FEED}
# The kinds of link that lead to older parts of a feed (RFC 5005).
_OLDER = ("next", "prev-archive")

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_CONTROLS = {n: 0xFFFD for n in range(0x20) if n not in {0x9, 0xA, 0xD}}
_CONTROLS |= {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}
_CONTROL_BYTES = bytes(
    0x20 if n < 0x20 and n not in {0x9, 0xA, 0xD} else n  # noqa: PLR2004 - ASCII
    for n in range(256)
)
_REFERENCE = re.compile(r"&#(?:[xX]([0-9A-Fa-f]{1,8})|([0-9]{1,8}));")
_AMPERSAND = re.compile(r"&(?!#?\w{1,32};)|&([A-Za-z]\w{1,31});", re.ASCII)
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ITEM_TAG = re.compile(rb"<(/?)(?:[\w.-]{1,40}:)?(item|entry|deleted-entry)[\s/>]")
# What hides tags, and what ends it.
_HIDDEN = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
# A lead byte whose sequence is cut off by the end of its element.
_CUT_CHARACTER = re.compile(
    rb"(?:[\xC2-\xDF]|[\xE0-\xEF][\x80-\xBF]?|[\xF0-\xF4][\x80-\xBF]{0,2})"
    rb"(?=(?:\.\.\.)?(?:\]\]>)?</)"
)


@dataclass(frozen=True, slots=True)
class Document:
    """The items and links in one answer of a feed."""

    # Each wrapped in the declarations that it inherits.
    items: tuple[bytes, ...]
    charset: str | None
    # Where the older part of the feed lies, if it says so.
    older: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One item as a tree, and what had to be done to read it."""

    element: Element
    language: str | None
    base: str | None
    flags: tuple[str, ...]


def read_document(body: bytes, declared: str | None) -> Document:
    """Cut a document into its items, or raise `unexpected_shape`."""
    body, charset = _ascii_based(body, declared)
    cutter = _Cutter()
    try:
        cutter.parser.Parse(body.translate(_CONTROL_BYTES), True)  # noqa: FBT003 - C
    except expat.ExpatError as exc:
        if cutter.root is None or not _is_closed(body):
            raise unexpected(body, f"no well-formed XML: {exc}") from exc
        return Document(tuple(_loose_items(body, cutter)), charset, cutter.older)
    except defusedxml.DefusedXmlException as exc:
        raise unexpected(body, "a document type is refused") from exc
    items = tuple(cutter.wrapped(body[start:end]) for start, end in cutter.spans(body))
    return Document(items, charset, cutter.older)


def read_item(payload: bytes, charset: str | None) -> Item:
    """Return one item as a tree, or raise MalformedEntryError."""
    text, flags = _decoded(payload, charset)
    try:
        wrapper = _tree(text)
    except ParseError:
        wrapper = _mended_tree(text)
        flags = tuple(dict.fromkeys((*flags, "repaired")))
    children = list(wrapper)
    if len(children) != 1:
        raise MalformedEntryError("An item is one element.", reason="no_item")
    element = children[0]
    return Item(
        element,
        element.get(f"{{{XML}}}lang") or wrapper.get(f"{{{XML}}}lang"),
        element.get(f"{{{XML}}}base") or wrapper.get(f"{{{XML}}}base"),
        flags,
    )


def loose_identity(payload: bytes) -> str | None:
    """Return the id that stands in an item which cannot be read."""
    for name in (b"guid", b"id", b"link"):
        found = re.search(rb"<" + name + rb"\b[^<>]{0,200}>([^<>]{1,255})</", payload)
        if found and (identity := found[1].decode("utf-8", "replace").strip()):
            return html.unescape(identity)
    return None


def unexpected(body: bytes, why: str) -> IngestionError:
    """Return the error of an answer that is no feed."""
    if re.search(rb"""type\s{0,9}=\s{0,9}["']?password""", body, re.IGNORECASE):
        return IngestionError(
            "The feed answers with a page for logging in.", reason="login_required"
        )
    shown = body[:_SHOWN].decode("utf-8", "replace")
    return IngestionError(
        "The address does not answer with RSS or Atom.",
        reason="unexpected_shape",
        technical=f"{why}: {shown!r}",
    )


class _Cutter:
    """Finds where items begin and end, by a parser that expands nothing.

    It reads every byte as a character of its own, so that a wrong one stops nothing.
    """

    def __init__(self) -> None:
        self.root: str | None = None
        self.older: str | None = None
        self._depth = 0
        self._item_depth: int | None = None
        self._edges: list[tuple[int, int]] = []
        self._start = 0
        self._parents: list[str] = []
        # What the element that comes next declares, and what those around it have.
        self._declared: dict[str, str] = {}
        self._inherited: dict[str, str] = {}
        parser = expat.ParserCreate("iso-8859-1", " ")
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.StartNamespaceDeclHandler = self._namespace
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        self.parser = parser

    def spans(self, body: bytes) -> Iterator[tuple[int, int]]:
        """Yield where each item begins and ends."""
        for start, end in self._edges:
            # The parser tells where the closing tag is; of `<item/>`, what follows it.
            is_empty = (
                body[start:end].endswith(b"/>") and body.count(b"<", start, end) == 1
            )
            yield start, end if is_empty else body.find(b">", end) + 1

    def wrapped(self, item: bytes) -> bytes:
        """Return an item with the declarations of the elements around it."""
        said = " ".join(f"{name}={value}" for name, value in self._inherited.items())
        opening = f"<feed {said}>".encode("latin-1", "xmlcharrefreplace")
        return opening + item + b"</feed>"

    def _namespace(self, prefix: str | None, uri: str) -> None:
        if self._item_depth is None:
            name = f"xmlns:{prefix}" if prefix else "xmlns"
            self._declared[name] = quoteattr(uri or "")

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._item_depth is not None:
            return
        declared, self._declared = self._declared, {}
        uri, _, local = name.rpartition(" ")
        if self.root is None:
            self._begin(local)
        if self._is_item(uri, local):
            self._item_depth = self._depth
            self._start = self.parser.CurrentByteIndex
            return
        if local == "link" and uri == ATOM and self._depth <= 3:  # noqa: PLR2004
            self._link(attributes)
        if local in _ROOTS or local == _CHANNEL:
            self._inherit(declared, attributes)
        self._parents.append(local)

    def _begin(self, local: str) -> None:
        if local not in _ROOTS:
            raise _NoFeedError(local)
        self.root = local

    def _is_item(self, uri: str, local: str) -> bool:
        parent = self._parents[-1] if self._parents else ""
        if local == "item":
            return parent in {_CHANNEL, "RDF"}
        return parent == _FEED and (
            (local == "entry" and uri == ATOM)
            or (local == "deleted-entry" and uri == TOMBSTONES)
        )

    def _link(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel") in _OLDER and self.older is None:
            self.older = attributes.get("href")

    def _inherit(self, declared: dict[str, str], attributes: dict[str, str]) -> None:
        self._inherited.update(declared)
        for name in ("lang", "base"):
            if value := attributes.get(f"{XML} {name}"):
                self._inherited[f"xml:{name}"] = quoteattr(value)

    def _close(self, _name: str) -> None:
        if self._item_depth is None:
            self._parents.pop()
        elif self._item_depth == self._depth:
            self._item_depth = None
            self._edges.append((self._start, self.parser.CurrentByteIndex))
        self._depth -= 1


class _NoFeedError(expat.ExpatError):
    """The document's root element is not that of a feed."""


def _refuse_doctype(
    name: str,
    sysid: str | None,
    pubid: str | None,
    _internal: bool,  # noqa: FBT001
) -> None:
    raise defusedxml.DTDForbidden(name, sysid, pubid)


def _ascii_based(body: bytes, declared: str | None) -> tuple[bytes, str | None]:
    """Return the body in a charset whose markup is ASCII, and that charset."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return decoding.decode(body).text.encode("utf-8", "replace"), "utf-8"
    body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if found := _DECLARED.match(body):
        declared = found[1].decode("ascii")
    return body, declared


def _is_closed(body: bytes) -> bool:
    """Tell whether the document has its end: if it has not, it was cut off."""
    return (
        re.search(
            rb"</(?:[\w.-]{1,40}:)?(?:rss|RDF|feed)\s{0,9}>\s{0,99}\Z", body[-200:]
        )
        is not None
    )


def _loose_items(body: bytes, cutter: _Cutter) -> Iterator[bytes]:
    """Yield the items of a document that is not well-formed, by their tags alone."""
    start: int | None = None
    for is_end, begin, end in _item_tags(body):
        if not is_end:
            # An item that is not closed ends where the next one begins.
            if start is not None:
                yield cutter.wrapped(body[start:begin])
            start = begin
        elif start is not None:
            yield cutter.wrapped(body[start:end])
            start = None


def _item_tags(body: bytes) -> Iterator[tuple[bool, int, int]]:
    # From the last end of a kind on, what looks like its beginning is text.
    hidden = {mark: body.rfind(end) for mark, end in _HIDDEN.items()}
    position = 0
    while (position := body.find(b"<", position)) >= 0:
        for mark, last in hidden.items():
            if position < last and body.startswith(mark, position):
                position = body.find(_HIDDEN[mark], position)
                break
        else:
            if found := _ITEM_TAG.match(body, position):
                yield bool(found[1]), position, body.find(b">", position) + 1
        position += 1


def _decoded(payload: bytes, charset: str | None) -> tuple[str, tuple[str, ...]]:
    flags: list[str] = []
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        # A source that cuts at a number of bytes may cut a character in two.
        whole = _with_cut_characters(payload)
        decoded = decoding.decode(payload, charset) if whole is None else None
        text = decoded.text if decoded else whole or ""
        if decoded is None:
            flags += ["repaired", "truncated_by_source"]
        elif decoded.repaired:
            flags.append("repaired")
        if decoded and decoded.guessed:
            flags.append("charset_guess")
    clean = _REFERENCE.sub(_legal_reference, text.translate(_CONTROLS))
    if clean != text:
        flags.append("repaired")
    return clean, tuple(dict.fromkeys(flags))


def _with_cut_characters(payload: bytes) -> str | None:
    """Return the text of UTF-8 that was cut at a number of bytes, if it is that."""
    try:
        text = _CUT_CHARACTER.sub(b"\xef\xbf\xbd", payload).decode("utf-8")
    except UnicodeDecodeError:
        return None
    # One accent at the end of a word alone is rather another charset.
    return text if not text.replace("\ufffd", "").isascii() else None


def _legal_reference(found: re.Match[str]) -> str:
    number = int(found[1], 16) if found[1] else int(found[2])
    is_legal = (
        number in {0x9, 0xA, 0xD}
        or 0x20 <= number <= 0xD7FF  # noqa: PLR2004 - the table of XML 1.0
        or 0xE000 <= number <= 0xFFFD  # noqa: PLR2004
        or 0x10000 <= number <= 0x10FFFF  # noqa: PLR2004
    )
    return found[0] if is_legal else "\ufffd"


def _tree(text: str) -> Element:
    if _marks(text) > _MAX_MARKS:
        raise MalformedEntryError("An item has too many elements.", reason="too_deep")
    try:
        tree: Element = ElementTree.fromstring(text, forbid_dtd=True)
    except defusedxml.DefusedXmlException as exc:
        message = "An item declares a document type."
        raise MalformedEntryError(message, reason="document_type") from exc
    return tree


def _marks(text: str) -> int:
    """Count the tags, those aside that a section of characters only quotes."""
    first, *pieces = text.split("<![CDATA[")
    return first.count("<") + sum(
        piece.partition("]]>")[2].count("<") for piece in pieces
    )


def _mended_tree(text: str) -> Element:
    """Read what would be XML if its author had known that HTML is not."""
    pieces = text.split("<![CDATA[")
    mended = [_AMPERSAND.sub(_named, pieces[0])]
    for piece in pieces[1:]:
        inside, closing, after = piece.partition("]]>")
        mended.append(f"<![CDATA[{inside}{closing}{_AMPERSAND.sub(_named, after)}")
    try:
        return _tree("".join(mended))
    except ParseError as exc:
        raise MalformedEntryError(
            "The item is no well-formed XML.", reason="xml_invalid", technical=str(exc)
        ) from exc


def _named(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:
        return "&amp;"
    if name in _OF_XML:
        return found[0]
    meant = html.entities.html5.get(f"{name};")
    return meant or f"&amp;{name};"
