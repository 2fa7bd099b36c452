"""What the elements of a feed's item mean: one item, one entry."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Self
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree.ElementTree import Element, tostring

from shared.adapter_contract.contract import Source
from shared.adapter_contract.entry import AttachmentRef, Entry, TextFormat
from shared.errors import MalformedEntryError
from shared.text import plain_text
from shared.times import source_times
from workers.adapters.feed.feed_document import ATOM, TOMBSTONES, Item

Identity = Literal["auto", "guid", "link", "content"]

_CONTENT = "http://purl.org/rss/1.0/modules/content/"
_DC = "http://purl.org/dc/elements/1.1/"
_DC_TERMS = "http://purl.org/dc/terms/"
_MEDIA = "http://search.yahoo.com/mrss/"
_THREADS = "http://purl.org/syndication/thread/1.0"

_GUID = ("guid", f"{{{ATOM}}}id")
_WRITTEN = (
    "pubDate",
    f"{{{ATOM}}}published",
    f"{{{_DC}}}date",
    f"{{{_DC_TERMS}}}created",
)
_MODIFIED = (f"{{{ATOM}}}updated", f"{{{_DC_TERMS}}}modified")
_BODY = (f"{{{_CONTENT}}}encoded", f"{{{ATOM}}}content", "description")
_SUMMARY = f"{{{ATOM}}}summary"
_AUTHORS = ("author", f"{{{_DC}}}creator", f"{{{ATOM}}}author")
_TAGS = ("category", f"{{{_DC}}}subject", f"{{{ATOM}}}category")
_KNOWN = {*_GUID, *_WRITTEN, *_MODIFIED, *_BODY, *_AUTHORS, *_TAGS, _SUMMARY}
_KNOWN |= {"title", "link", "enclosure", f"{{{ATOM}}}title", f"{{{ATOM}}}link"}
# A tag or a reference to a character: without either, lines of a text stay lines.
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,2000}>|&#?\w{1,32};")
# Writing out a tree of markup goes through Python: what it costs has a bound.
_MAX_ELEMENTS, _MAX_DEPTH = 8_000, 200
_MAX_METADATA = 256


@dataclass(frozen=True, slots=True)
class FeedItem:
    """An item whose RSS 1.0 names are made those of RSS 2.0, which mean the same."""

    item: Item
    parts: dict[str, list[Element]] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> Self:
        """Return the item's children by name."""
        parts: dict[str, list[Element]] = {}
        for child in item.element:
            if isinstance(child.tag, str):
                parts.setdefault(_plain_name(child.tag), []).append(child)
        return cls(item, parts)

    @property
    def is_tombstone(self) -> bool:
        """Tell whether the item says that an entry was deleted (RFC 6721)."""
        return self.item.element.tag == f"{{{TOMBSTONES}}}deleted-entry"

    def text(self, *names: str) -> str | None:
        """Return the first of these elements' texts that is not empty."""
        for name in names:
            for part in self.parts.get(name, ()):
                if text := "".join(part.itertext()).strip():
                    return text
        return None

    def links(self) -> Iterator[Element]:
        """Yield the links of Atom, which RSS has too."""
        yield from self.parts.get(f"{{{ATOM}}}link", ())

    def link(self) -> str | None:
        """Return the address of the entry's page, as written."""
        for link in self.links():
            if link.get("rel", "alternate") == "alternate" and link.get("href"):
                return link.get("href")
        return self.text("link")


def identify(reading: FeedItem, identity: Identity) -> str:
    """Return the entry's id: its own, its address, or a hash of its text (AD-20)."""
    if reading.is_tombstone:
        return reading.item.element.get("ref", "").strip()
    candidates = {"guid": reading.text(*_GUID), "link": reading.link()}
    for name, found in candidates.items():
        if found and identity in {"auto", name}:
            return found
    said = (
        reading.text("title", f"{{{ATOM}}}title"),
        reading.text(*_WRITTEN, *_MODIFIED),
    )
    parts = [*said, reading.text(*_BODY, _SUMMARY), reading.link()]
    digest = hashlib.sha256("\x1f".join(part or "" for part in parts).encode())
    return f"sha256:{digest.hexdigest()[:32]}"


def stamp(reading: FeedItem) -> str | None:
    """Return the time as written by which a feed orders its items."""
    if reading.is_tombstone:
        return reading.item.element.get("when")
    return reading.text(*_MODIFIED, *_WRITTEN)


def entry_of(
    reading: FeedItem,
    external_id: str,
    *,
    source: Source,
    page: str | None,
    logbook: str | None,
    cut_at_bytes: int | None,
) -> Entry:
    """Return the entry that an item is, or MalformedEntryError."""
    if reading.is_tombstone:
        return _tombstone(reading, external_id, source)
    base = _base(page, reading.item.base)
    flags = list(reading.item.flags)
    written = _time(reading.text(*_WRITTEN), source, flags)
    modified = _time(reading.text(*_MODIFIED), source, flags)
    text, text_format = _body(reading)
    if cut_at_bytes and len(text.encode("utf-8", "replace")) >= cut_at_bytes:
        flags.append("truncated_by_source")
    link = reading.link()
    return Entry(
        external_id=external_id,
        entry_time=written or modified,
        modified_at=modified,
        title=_title(reading),
        text=text,
        text_format=text_format,
        authors=tuple(_authors(reading)),
        logbooks=(logbook,) if logbook else (),
        tags=tuple(_tags(reading)),
        reply_to=_parent(reading),
        attachments=tuple(_attachments(reading, base)),
        metadata=_metadata(reading),
        language=_language(reading.item.language),
        url=_absolute(base, link) if link else None,
        flags=tuple(dict.fromkeys(flags)),
    )


def _tombstone(reading: FeedItem, external_id: str, source: Source) -> Entry:
    flags: list[str] = []
    when = _time(stamp(reading), source, flags)
    return Entry(
        external_id=external_id,
        entry_time=None,
        modified_at=when,
        deleted=True,
        flags=tuple(flags),
    )


def _plain_name(tag: str) -> str:
    """Return an element's name, without the namespaces that RSS itself has had."""
    uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    known = {ATOM, TOMBSTONES, _CONTENT, _DC, _DC_TERMS, _MEDIA, _THREADS}
    return tag if uri in known else local


def _time(text: str | None, source: Source, flags: list[str]) -> datetime | None:
    if text is None:
        return None
    moment = source_times.parse_source_time(
        text, zone=source.timezone, fold=source.tz_fold
    )
    flags.extend(moment.flags)
    return moment.at


def _title(reading: FeedItem) -> str:
    for part in reading.parts.get(f"{{{ATOM}}}title", ()):
        if part.get("type") in {"html", "xhtml"}:
            return plain_text.to_plain(_content(part)[0], "html").strip()
    return reading.text("title", f"{{{ATOM}}}title") or ""


def _body(reading: FeedItem) -> tuple[str, TextFormat]:
    """Return the fullest text that the item has, as its source wrote it."""
    for name in (*_BODY, _SUMMARY):
        for part in reading.parts.get(name, ()):
            if name.startswith(f"{{{ATOM}}}"):
                text, text_format = _content(part)
            else:
                text = "".join(part.itertext())
                # RSS does not say of which kind it is: ELOG and Olog send plain text.
                text_format = "html" if _MARKUP.search(text) else "plain"
                # ELOG begins a new line behind each tag.
                text = text.strip("\r\n")
            if text.strip():
                return text, text_format
    return "", "html"


def _content(part: Element) -> tuple[str, TextFormat]:
    """Return a text of Atom by the type that it declares."""
    kind = part.get("type", "text")
    if kind == "xhtml" or (kind.endswith(("+xml", "/xml")) and len(part)):
        return _markup(part), "html"
    text = "".join(part.itertext())
    return text, "html" if kind in {"html", "text/html"} else "plain"


def _markup(part: Element) -> str:
    """Return the markup inside an element, its namespaces left out."""
    if _is_too_much(part):
        message = "Its markup has too many elements, or too deep ones."
        raise MalformedEntryError(message, reason="too_deep")
    for element in part.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
    # Atom wraps the text into one `div` that is no part of it.
    inside = part[0] if len(part) == 1 and part[0].tag == "div" else part
    pieces = [inside.text or ""]
    pieces += [tostring(child, encoding="unicode", method="html") for child in inside]
    return "".join(pieces)


def _is_too_much(part: Element) -> bool:
    level, depth, count = [part], 0, 0
    while level:
        depth += 1
        count += len(level)
        if depth > _MAX_DEPTH or count > _MAX_ELEMENTS:
            return True
        level = [child for element in level for child in element]
    return False


def _authors(reading: FeedItem) -> Iterator[str]:
    for name in _AUTHORS:
        for part in reading.parts.get(name, ()):
            named = part.find(f"{{{ATOM}}}name")
            text = "".join((part if named is None else named).itertext()).strip()
            if text:
                yield text


def _tags(reading: FeedItem) -> Iterator[str]:
    for name in _TAGS:
        for part in reading.parts.get(name, ()):
            text = part.get("label") or part.get("term") or "".join(part.itertext())
            if text.strip():
                yield text.strip()


def _parent(reading: FeedItem) -> str | None:
    for part in reading.parts.get(f"{{{_THREADS}}}in-reply-to", ()):
        if parent := part.get("ref"):
            return parent
    return None


def _attachments(reading: FeedItem, base: str | None) -> Iterator[AttachmentRef]:
    enclosed: list[tuple[str | None, ...]] = [
        (part.get("url"), part.get("type"), part.get("length"), None)
        for part in reading.parts.get("enclosure", ())
    ]
    enclosed += [
        (link.get("href"), link.get("type"), link.get("length"), link.get("title"))
        for link in reading.links()
        if link.get("rel") == "enclosure"
    ]
    enclosed += [
        (part.get("url"), part.get("type"), part.get("fileSize"), None)
        for part in reading.parts.get(f"{{{_MEDIA}}}content", ())
    ]
    seen: set[str] = set()
    for href, declared, length, caption in enclosed:
        url = _absolute(base, href.strip()) if href and href.strip() else None
        if url is None or url in seen:
            continue
        seen.add(url)
        yield AttachmentRef(
            id=url,
            filename=_filename(url),
            url=url,
            declared_type=declared or None,
            bytes=_whole(length),
            caption=caption,
        )


def _base(page: str | None, said: str | None) -> str | None:
    try:
        return urljoin(page or "", said or "") or None
    except ValueError:
        # What no address is changes none.
        return page


def _absolute(base: str | None, href: str) -> str | None:
    try:
        url = urljoin(base or "", href)
        parts = urlsplit(url)
    except ValueError:
        # What no address is has none.
        return None
    return url if parts.scheme in {"http", "https"} else None


def _filename(url: str) -> str:
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2]) or "attachment"


def _whole(text: str | None) -> int | None:
    """Return a size; zero is what feeds say that do not know it."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 15:  # noqa: PLR2004 - as long as a size may be
        return None
    return int(text) or None


def _metadata(reading: FeedItem) -> dict[str, str]:
    """Return the item's other elements that hold plain text, as metadata."""
    said: dict[str, str] = {}
    for tag, parts in reading.parts.items():
        if tag in _KNOWN or len(said) >= _MAX_METADATA:
            continue
        texts = ["".join(part.itertext()).strip() for part in parts if not len(part)]
        if text := ", ".join(text for text in texts if text):
            said.setdefault(tag.rpartition("}")[2], text)
    return said


def _language(tag: str | None) -> str | None:
    if not tag:
        return None
    primary = tag.partition("-")[0].strip().lower()
    return primary if primary.isascii() and primary.isalpha() else None
