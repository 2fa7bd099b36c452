"""RSS and Atom: a window of what is newest, and older parts where the feed links them.

What left the window between two polls is lost to a feed: that is reported as a gap.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar
from urllib.parse import urljoin

from pydantic import Field

from shared.adapter_contract.conditional_fetch import Answered, if_changed
from shared.adapter_contract.contract import (
    AdapterArgs,
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    Gap,
    RawItem,
    Recognition,
    Reply,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError, MalformedEntryError
from shared.times import source_times
from workers.adapters.feed import cursor as feed_cursor
from workers.adapters.feed import feed_document, feed_item
from workers.adapters.feed.cursor import FeedCursor, FeedWalk

_MEDIA_TYPE = "application/xml"
_ACCEPT = {"Accept": "application/atom+xml, application/rss+xml, application/xml, */*"}
# So many ids of the newest part are remembered, by which the next poll knows that it
# has missed nothing; a few kilobytes of cursor.
_REMEMBERED = 200
_ID_BYTES = 6


class FeedArgs(AdapterArgs):
    """The settings of a feed."""

    identity: feed_item.Identity = "auto"
    """What names an item: its guid, its link, its content; auto takes the first of
    these that it has."""
    logbook: str | None = Field(None, description="The logbook of all its entries.")
    cut_at_bytes: int | None = Field(None, ge=1)
    """Texts of this size are flagged as cut by the source."""
    follow: bool = True
    """Read older parts that the feed links (RFC 5005)."""
    max_documents: int = Field(1000, ge=1)
    """Older parts read in one walk, at most."""

    def names_by(self) -> tuple[str, ...]:
        """Return which of its parts names an item."""
        return (self.identity,)


@dataclass(frozen=True, slots=True)
class _Item:
    raw: RawItem
    at: datetime | None
    is_tombstone: bool = False


class Feed:
    """Reads RSS 2.0, RSS 1.0 and Atom; only items that are new or edited cost."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="feed",
        title="RSS or Atom feed",
        version=2,
        capabilities=AdapterCapabilities(
            order="created_desc",
            edits="rescan",
            deletes="invisible",
            replies="none",
            attachments="by_url",
            only_newest=True,
        ),
        args=FeedArgs,
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self._args: FeedArgs = source.args

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield the newest part, then older ones until something is known already."""
        place = FeedCursor.of(since)
        walk = place.walk or FeedWalk()
        url: str | None = walk.next or self._source.base_url
        visited: set[str] = set()
        while url is not None and len(visited) < self._args.max_documents:
            visited.add(url)
            # A document of which only a part is committed must come once more.
            is_head = not walk.head
            reply = self._get(url, place.answered if is_head else None)
            if reply is None:
                cursor = {"v": feed_cursor.VERSION, **place.cursor}
                yield AdapterPage((), cursor, complete_to=self._io.now())
                return
            document, items = self._read(reply)
            walk = self._further(walk, items, reply)
            is_known = any(_key(item.raw.external_id) in place.seen for item in items)
            older = self._older(document, reply) if not is_known else None
            if _is_before(walk.oldest, window) or older in visited:
                older = None
            walk = replace(walk, next=older)
            gaps = self._gaps(place, walk, is_known=is_known)
            again = replace(walk, next=None if is_head else url)
            yield from self._chunks(place, walk, again, items, reply.fetched_at, gaps)
            url = older

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry that an item is."""
        if not isinstance(raw.payload, bytes):
            raise MalformedEntryError("An item is bytes.", reason="unexpected_shape")
        reading = feed_item.FeedItem.of(
            feed_document.read_item(raw.payload, raw.charset)
        )
        return feed_item.entry_of(
            reading,
            raw.external_id or feed_item.identify(reading, self._args.identity),
            source=self._source,
            page=raw.url,
            logbook=self._args.logbook,
            cut_at_bytes=self._args.cut_at_bytes,
        )

    def check(self) -> SourceReport:
        """Read the newest part of the feed, and report what it holds."""
        reply = self._get(self._source.base_url or "", None)
        assert reply is not None
        document, items = self._read(reply)
        problems = []
        if not any(item.at for item in items):
            problems.append("No item says when it was written.")
        if document.older is None:
            problems.append(
                f"The feed shows its newest {len(items)} items only: poll it often"
                " enough that none leaves it unseen."
            )
        times = [item.at for item in items if item.at]
        return SourceReport(
            newest=max(times, default=None),
            entries=len(items),
            problems=tuple(problems),
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Tell a feed by the root of its document."""
        try:
            reply = io.http.get(url, headers=_ACCEPT)
            document = feed_document.read_document(reply.body, reply.charset)
        except IngestionError:
            return None
        count = len(document.items)
        return Recognition(
            settings={"adapter": cls.descriptor.name, "base_url": url},
            confidence=0.9,
            why=f"The address answers with a feed of {count} items.",
            asks=("timezone",),
        )

    def _get(self, url: str, known: Answered | None) -> Reply | None:
        """Get an address; None if its server says that the known answer still holds."""
        read_by = self._source.read_by
        return if_changed(self._io.http, url, known, read_by, headers=_ACCEPT)

    def _read(self, reply: Reply) -> tuple[feed_document.Document, list[_Item]]:
        document = feed_document.read_document(reply.body, reply.charset)
        counted: Counter[str] = Counter()
        items = []
        for payload in document.items:
            item = self._item(payload, document, reply, counted)
            if item is not None:
                items.append(item)
        return document, _without_returned(items)

    def _item(
        self,
        payload: bytes,
        document: feed_document.Document,
        reply: Reply,
        counted: Counter[str],
    ) -> _Item | None:
        """Return an item under its id; one that cannot be read has one, too."""
        at: datetime | None = None
        is_tombstone = False
        try:
            item = feed_document.read_item(payload, document.charset)
            reading = feed_item.FeedItem.of(item)
            external_id = feed_item.identify(reading, self._args.identity)
            at = self._when(reading)
            is_tombstone = reading.is_tombstone
        except MalformedEntryError:
            external_id = feed_document.loose_identity(payload) or (
                f"sha256:{hashlib.sha256(payload).hexdigest()[:32]}"
            )
        if external_id.startswith("sha256:"):
            counted[external_id] += 1
            if (count := counted[external_id]) > 1:
                external_id = f"{external_id}#{count}"
        raw = RawItem(
            external_id=external_id,
            payload=payload,
            media_type=_MEDIA_TYPE,
            charset=document.charset,
            url=reply.url,
            fetched_at=reply.fetched_at,
        )
        return _Item(raw, at, is_tombstone) if external_id else None

    def _when(self, reading: feed_item.FeedItem) -> datetime | None:
        text = feed_item.stamp(reading)
        if text is None:
            return None
        try:
            zone = self._source.timezone or "UTC"
            return source_times.parse_source_time(
                text, zone=zone, fold=self._source.tz_fold
            ).at
        except MalformedEntryError:
            # `parse` rejects it; here it merely has no place in the order.
            return None

    def _further(
        self, walk: FeedWalk, items: Sequence[_Item], reply: Reply
    ) -> FeedWalk:
        times = sorted(item.at for item in items if item.at)
        if walk.head:
            return replace(walk, next=None, oldest=times[0] if times else None)
        ordered = list(items)
        if times and items[0].at == times[0] and times[0] < times[-1]:
            ordered.reverse()
        keys = [_key(item.raw.external_id) for item in ordered[:_REMEMBERED]]
        # An empty feed has been seen, too.
        head = tuple(keys) or ("",)
        newest = times[-1].isoformat() if times else None
        question = self._source.base_url or ""
        answered = Answered.of(reply, question, self._source.read_by)
        return FeedWalk(head, newest, None, times[0] if times else None, answered)

    def _older(self, document: feed_document.Document, reply: Reply) -> str | None:
        if not self._args.follow or not document.older:
            return None
        return urljoin(reply.url, document.older)

    def _gaps(
        self, place: FeedCursor, walk: FeedWalk, *, is_known: bool
    ) -> tuple[Gap, ...]:
        if not place.seen - {""} or is_known or walk.next is not None:
            return ()
        return (Gap(place.newest, walk.oldest, "feed window passed"),)

    def _chunks(
        self,
        place: FeedCursor,
        walk: FeedWalk,
        again: FeedWalk,
        items: list[_Item],
        fetched_at: datetime,
        gaps: tuple[Gap, ...],
    ) -> Iterator[AdapterPage]:
        """Yield a document in pages; the last one's cursor leaves it behind."""
        most = self._source.page_size
        starts = range(0, max(len(items), 1), most)
        # Until then, whoever goes on asks for the same document `again`.
        for start in starts:
            raws = tuple(item.raw for item in items[:most])
            # What is yielded is held no longer.
            del items[:most]
            if start != starts[-1]:
                yield AdapterPage(raws, place.during(again))
            elif walk.next is not None:
                yield AdapterPage(raws, place.during(walk))
            else:
                cursor = {
                    "v": feed_cursor.VERSION,
                    "seen": list(walk.head),
                    "newest": walk.newest or place.cursor.get("newest"),
                    "answered": walk.answered.kept() if walk.answered else None,
                }
                yield AdapterPage(raws, cursor, gaps=gaps, complete_to=fetched_at)


def _without_returned(items: list[_Item]) -> list[_Item]:
    """Drop the tombstones of entries that were written again later (RFC 6721)."""
    alive = {
        item.raw.external_id: item.at
        for item in items
        if not item.is_tombstone and item.at
    }

    def has_returned(item: _Item) -> bool:
        again = alive.get(item.raw.external_id)
        return again is not None and item.at is not None and again > item.at

    return [item for item in items if not (item.is_tombstone and has_returned(item))]


def _is_before(oldest: datetime | None, window: Window | None) -> bool:
    return bool(window and window.start and oldest and oldest < window.start)


def _key(external_id: str) -> str:
    digest = hashlib.sha256(external_id.encode("utf-8", "replace")).digest()
    return base64.b64encode(digest[:_ID_BYTES]).decode("ascii")
