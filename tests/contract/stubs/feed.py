"""A feed as logbooks write them: a short window, no guid, and edits in place.

Read in vetlewi/elog, `elogd.cxx: show_rss_feed` (15 items, a text cut at 2048 bytes, a
plain text as it is, no guid, blanks in its elements) and Olog/phoebus-olog,
`RssFeedUtil` (a plain text, no guid). Parts, tombstones and Atom are of their RFCs.
"""

import hashlib
import html
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from tests.contract.stubs.holding import FOREIGN, ServingStub
from tests.contract.stubs.serving import StubAnswer, StubRequest
from workers.adapters.kit.stub import FaultMode, StubEntry

Form = Literal["rss", "rdf", "atom"]

_ATOM = 'xmlns="http://www.w3.org/2005/Atom"'
_RDF = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns="http://purl.org/rss/1.0/"'
)
_NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:at="http://purl.org/atompub/tombstones/1.0"'
    ' xmlns:x="urn:example:logbook"'
)


class FeedStub(ServingStub):
    """Shows its newest entries; older ones in parts that it links, if it is paged."""

    def __init__(
        self,
        *,
        form: Form = "rss",
        window: int = 15,
        is_paged: bool = True,
        has_guid: bool = False,
        cut_at_bytes: int | None = None,
        leaves_tombstones: bool = False,
        declared: str = "utf-8",
        is_plain: bool = False,
    ) -> None:
        self._form = form
        self._window = window
        self._is_paged = is_paged
        self._has_guid = has_guid
        self._cut_at_bytes = cut_at_bytes
        self._leaves_tombstones = leaves_tombstones
        self._declared = declared
        # ELOG and Olog write a text without markup as it is, and nothing says so.
        self._is_plain = is_plain
        self._deleted: dict[str, datetime] = {}
        self._edited: dict[str, datetime] = {}
        # What the next answers hold besides, to be a feed of another kind.
        self.prolog = b""
        self.answers_etag = True
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self._server.base_url}/feed.xml"

    def settings(self) -> Mapping[str, Any]:
        return {
            "adapter": "feed",
            "base_url": self.url,
            "timezone": "Europe/Berlin",
            "args": {"cut_at_bytes": self._cut_at_bytes} if self._cut_at_bytes else {},
        }

    def add(self, entry: StubEntry) -> str:
        external_id = self._id(entry)
        self._entries[external_id] = entry
        self._deleted.pop(external_id, None)
        for file in entry.files:
            if not file.missing and not file.foreign:
                self._files[f"/files/{entry.number}/{file.filename}"] = file.content
        return external_id

    def edit(self, external_id: str, **changes: Any) -> str:
        entry = replace(self._entries[external_id], **changes)
        self._mend(external_id, changes)
        self._edited[external_id] = entry.time + timedelta(hours=1)
        self.add(entry)
        return external_id

    def delete(self, external_id: str) -> None:
        entry = self._entries.pop(external_id)
        if self._leaves_tombstones:
            self._deleted[external_id] = entry.time + timedelta(hours=2)

    def _id(self, entry: StubEntry) -> str:
        if self._form == "atom":
            return f"urn:example:entry:{entry.number}"
        if self._has_guid:
            return f"entry-{entry.number}"
        return self._link(entry)

    def _link(self, entry: StubEntry) -> str:
        return f"{self._server.base_url}/e/{entry.number}"

    def _answer(self, request: StubRequest) -> StubAnswer:
        if request.path != "/feed.xml":
            return self._send_file(request)
        part = int(dict(request.query).get("part", "0"))
        body = self._document(part, self._server.listing_fault())
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if self.answers_etag and request.headers.get("if-none-match") == etag:
            return StubAnswer(b"", 304, headers={"ETag": etag})
        headers = {"ETag": etag} if self.answers_etag else {}
        media_type = f"application/xml; charset={self._declared}"
        return StubAnswer(body, media_type=media_type, headers=headers)

    def _document(self, part: int, fault: FaultMode | None) -> bytes:
        newest = sorted(
            self._entries.items(), key=lambda one: (one[1].time, one[1].number)
        )[::-1]
        if fault == "empty_listing":
            newest = []
        start = part * self._window
        shown = newest[start : start + self._window]
        older = self._is_paged and start + self._window < len(newest)
        link = f"{self.url}?part={part + 1}" if older else None
        items = b"\n".join(self._item(key, entry) for key, entry in shown)
        if part == 0 and self._form == "atom":
            items += b"".join(self._tombstone(*one) for one in self._deleted.items())
        body = self._wrapped(items, link)
        return body[: len(body) // 2] if fault == "cut_listing" else body

    def _wrapped(self, items: bytes, link: str | None) -> bytes:
        older = f'<atom:link rel="next" href={quoteattr(link)}/>' if link else ""
        common = f"<title>Log</title>{older}"
        now = format_datetime(datetime.now(UTC) + self._offset)
        built = f"<lastBuildDate>{now}</lastBuildDate>" if self._offset else ""
        head, tail = {
            "rss": (
                f'<rss version="2.0" {_NAMESPACES}><channel>{built}{common}',
                "</channel></rss>",
            ),
            "rdf": (
                f"<rdf:RDF {_RDF} {_NAMESPACES}><channel>{common}</channel>",
                "</rdf:RDF>",
            ),
            "atom": (
                f'<feed {_ATOM} {_NAMESPACES} xml:lang="en-GB">{common}',
                "</feed>",
            ),
        }[self._form]
        declaration = f'<?xml version="1.0" encoding="{self._declared}"?>\n'
        prolog = declaration.encode() + self.prolog
        return b"%s%s%s%s" % (prolog, head.encode(), items, tail.encode())

    def _item(self, external_id: str, entry: StubEntry) -> bytes:
        broken = b"<b>unclosed <i>" if external_id in self._malformed else b""
        title = self._bytes_of(external_id, "title", escape(entry.title))
        # A text without markup becomes HTML, and that becomes XML.
        markup = html.escape(entry.text, quote=False).replace("\n", "<br/>")
        if self._is_plain:
            markup = f"\n{entry.text}\n"
        text = self._bytes_of(external_id, "text", escape(markup))
        if self._cut_at_bytes and len(text) > self._cut_at_bytes:
            text = text[: self._cut_at_bytes]
        parts = self._atom(external_id, entry) if self._form == "atom" else None
        before, after = parts or self._rss(external_id, entry)
        tag = b"content" if self._form == "atom" else b"description"
        kind = b' type="html"' if self._form == "atom" else b""
        name = b"entry" if self._form == "atom" else b"item"
        return b"".join(
            (
                b"<%s>" % name,
                b"<title>%s</title>" % title,
                before.encode(),
                b"<%s%s>%s</%s>" % (tag, kind, text, tag),
                broken,
                after.encode(),
                b"</%s>" % name,
            )
        )

    def _bytes_of(self, external_id: str, name: str, text: str) -> bytes:
        given = self._bytes.get((external_id, name))
        if given is None:
            return text.encode("utf-8", "surrogatepass")
        marked = given.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        return marked.replace(b">", b"&gt;")

    def _rss(self, external_id: str, entry: StubEntry) -> tuple[str, str]:
        time = entry.raw_time
        if self._form == "rdf":
            written = escape(time if time is not None else entry.time.isoformat())
            dated = f"<dc:date>{written}</dc:date>"
        else:
            written = escape(time if time is not None else format_datetime(entry.time))
            dated = f"<pubDate>{written}</pubDate>"
        guid = f"<guid>{escape(external_id)}</guid>" if self._has_guid else ""
        author = entry.author
        said = f"<dc:creator>{escape(author)}</dc:creator>" if author else ""
        tags = "".join(f"<category>{escape(tag)}</category>" for tag in entry.tags)
        enclosed = "".join(
            f"<enclosure url={quoteattr(url)} type={quoteattr(kind)} length='{size}'/>"
            for url, kind, size in self._enclosures(entry)
        )
        before = f"<link>{escape(self._link(entry))}</link>{guid}{dated}{said}"
        return before, tags + enclosed + _others(entry)

    def _atom(self, external_id: str, entry: StubEntry) -> tuple[str, str]:
        time = entry.raw_time
        written = escape(time if time is not None else entry.time.isoformat())
        edited = self._edited.get(external_id)
        updated = edited.isoformat() if edited else written
        author = entry.author
        said = f"<author><name>{escape(author)}</name></author>" if author else ""
        tags = "".join(f"<category term={quoteattr(tag)}/>" for tag in entry.tags)
        enclosed = "".join(
            f"<link rel='enclosure' href={quoteattr(url)} type={quoteattr(kind)}"
            f" length='{size}'/>"
            for url, kind, size in self._enclosures(entry)
        )
        before = (
            f"<id>{escape(external_id)}</id>"
            f"<link href={quoteattr(self._link(entry))}/>"
            f"<published>{written}</published><updated>{updated}</updated>{said}"
        )
        return before, tags + enclosed + _others(entry)

    def _tombstone(self, external_id: str, when: datetime) -> bytes:
        ref, at = quoteattr(external_id), quoteattr(when.isoformat())
        return f"<at:deleted-entry ref={ref} when={at}/>".encode()

    def _enclosures(self, entry: StubEntry) -> list[tuple[str, str, int]]:
        own = f"{self._server.base_url}/files/{entry.number}"
        places = {True: FOREIGN, False: own}
        return [
            (
                f"{places[file.foreign]}/{quote(file.filename, safe='')}",
                "application/octet-stream",
                len(file.content),
            )
            for file in entry.files
        ]


def _others(entry: StubEntry) -> str:
    return "".join(
        f"<x:{key}>{escape(value)}</x:{key}>" for key, value in entry.metadata.items()
    )


def make_stub() -> FeedStub:
    """Return one as the kit drives it: like ELOG's, but with links to older parts."""
    return FeedStub(window=50)
