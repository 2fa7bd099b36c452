"""The Jefferson Lab logbook: lists by time, newest first, every field asked for."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self
from urllib.parse import quote

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
from shared.errors import IngestionError
from workers.adapters.files import json_records
from workers.adapters.files.first_record import recognise_by_keys
from workers.adapters.files.json_records import JSONForm
from workers.adapters.files.utf8_text import most_line_bytes
from workers.adapters.files.walk import FileWalk
from workers.adapters.jlab import jlab_entry
from workers.adapters.jlab.jlab_entry import COMMENT
from workers.adapters.mapping.field_values import hash_id

_CURSOR_FORMAT = 1
_API = "/api/elog/entries"
# Zero is no lower bound to the server, and no time to a cursor.
_FIRST = 631_152_000
_AHEAD = timedelta(days=3650)
_RECONCILE_DAYS = 14
_DAY = 86_400
_FIELDS = (
    *("lognumber", "title", "body", "author", "created", "books", "tags"),
    *("attachments", "numcomments", "entrymakers", "needsattention"),
)
_KEYS = frozenset(("lognumber", "created"))
_GONE = (404, 410)
# How the server says that an entry is gone, with status 200; other words are trouble.
_NOT_THERE = "unable to retrieve requested entry"
_SHOWN = 200
# Each may have cost a request: what is there is stored after a few seconds.
_WITH_COMMENTS = 10


class JLabArgs(AdapterArgs):
    """What may be said of a JLab logbook beyond its address."""

    comments: bool = True
    """Read comments, at one more request for each entry that has some, or for each
    entry of a server whose lists do not count them."""


@dataclass(frozen=True, slots=True)
class _JlabWalk:
    """A walk from the newest page to the oldest, between two fixed times."""

    lower: int
    upper: int
    # When it began: the place that is safe once it has ended.
    began: int
    page: int = 0

    @classmethod
    def of(cls, kept: Any) -> Self | None:
        """Return a walk as a cursor keeps it, or None."""
        names = ("lower", "upper", "began", "page")
        if not isinstance(kept, Mapping) or set(kept) != set(names):
            return None
        if any(type(kept[name]) is not int or kept[name] < 0 for name in names):
            return None
        return cls(**kept)


class JLab:
    """A JLab electronic logbook, by its API or by files of its answers."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="jlab",
        title="Jefferson Lab logbook",
        version=1,
        args=JLabArgs,
        capabilities=AdapterCapabilities(
            order="created_desc",
            edits="rescan",
            deletes="rescan",
            replies="nested",
            attachments="by_url",
            windows=True,
            counts=True,
        ),
        min_overlap_seconds=1,
        max_records_per_page=100,
        aliases=("jlab_logbook",),
        place="either",
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self._args = source.args if isinstance(source.args, JLabArgs) else JLabArgs()
        self._site = (source.base_url or "").rstrip("/").removesuffix(_API)
        self._fields = jlab_entry.reader(source)
        self._most_line = most_line_bytes(source.max_entry_bytes)

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities; files cannot be asked by time."""
        known = self.descriptor.capabilities
        if self._source.path is None:
            return known
        return replace(known, windows=False, counts=False, deletes="invisible")

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield entries created since the cursor, or within the window."""
        if self._source.path is not None:
            form = JSONForm(most_line=self._most_line)
            walk = FileWalk(self._source, self._io, form, self._fields.external_id)
            yield from walk.pages(since)
        else:
            yield from self._walk(since, window)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of an entry or of a comment."""
        return jlab_entry.parse_entry(raw, self._fields, self._site, self._most_line)

    def fetch(self, external_id: str) -> RawItem | None:
        """Return an entry as lists have it, or a comment; None where it is gone."""
        number, mark, _ = external_id.partition(COMMENT)
        whole, reply = self._single(number)
        if whole is None:
            return None
        item: RawItem | None = RawItem(number, whole, fetched_at=reply.fetched_at)
        stamp = _stamp(whole)
        if stamp is not None:
            # A single entry has its body rendered, and is shown though unpublished.
            listed = self._listed(_JlabWalk(stamp - 1, stamp + 1, stamp))
            item = next((one for one in listed if one.external_id == number), None)
        if item is None or not mark:
            return item
        comments = self._comments_of(whole, item)
        return next((one for one in comments if one.external_id == external_id), None)

    def check(self) -> SourceReport:
        """Ask for the newest entry, and how many there are."""
        if self._source.path is not None:
            return SourceReport()
        upper = _epoch(self._io.now() + _AHEAD)
        data, _ = self._ask(_JlabWalk(_FIRST, upper, upper), limit=1)
        stamps = [_stamp(one) for one in data["entries"] if isinstance(one, dict)]
        newest = next((one for one in stamps if one is not None), None)
        return SourceReport(
            newest=None if newest is None else datetime.fromtimestamp(newest, UTC),
            entries=_whole(data.get("totalItems")),
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a JLab logbook by the envelope of its lists, or a file of it."""
        if "://" not in url:
            return recognise_by_keys(url, io, _KEYS, "entries of a JLab logbook")
        site = url.rstrip("/").removesuffix(_API)
        try:
            _data(io.http.get(f"{site}{_API}", params={"limit": "1"}).json())
        except IngestionError:
            return None
        return Recognition(
            settings={"base_url": site},
            confidence=0.9,
            why="its list answers with `stat` and `data`",
        )

    def _walk(
        self, since: Cursor | None, window: Window | None
    ) -> Iterator[AdapterPage]:
        walk, done = self._begin(since, window)
        is_whole = walk.page == 0
        seen = 0
        expected: int | None = None
        while not self._io.is_cancelled():
            data, reply = self._ask(walk, limit=self._source.page_size)
            records = data["entries"]
            seen += len(records)
            total = _whole(data.get("totalItems"))
            is_last = not records or not _has_more(data, walk.page)
            gaps: tuple[Gap, ...] = ()
            if is_last and is_whole and total is not None and seen < total:
                gaps = (_gap(walk, f"{seen} of {total} entries were listed"),)
            before = self._cursor(walk, done, is_last=False)
            if expected is not None and total is not None and total < expected:
                # What was deleted has moved others onto pages that were read.
                back = -(-(expected - total) // max(1, len(records)))
                walk, is_last = replace(walk, page=max(-1, walk.page - back - 1)), False
            expected = total
            walk = replace(walk, page=walk.page + 1)
            cursor = self._cursor(walk, done, is_last=is_last)
            items: list[RawItem] = []
            most = self._source.page_size
            if self._args.comments:
                most = min(most, _WITH_COMMENTS)
            for item in self._with_comments(records, reply):
                if len(items) == most:
                    yield AdapterPage(tuple(items), before)
                    items = []
                items.append(item)
            yield AdapterPage(tuple(items), cursor, gaps, total)
            if is_last:
                return

    def _begin(
        self, since: Cursor | None, window: Window | None
    ) -> tuple[_JlabWalk, int | None]:
        """Return the walk to go on with or to begin, and what was safe before it."""
        now = self._io.now()
        oldest = self._source.history_start
        lower = _FIRST if oldest is None else _epoch(oldest)
        upper = _epoch(now + _AHEAD)
        if window is not None:
            lower = lower if window.start is None else _epoch(window.start)
            if window.end is not None:
                upper = math.ceil(window.end.timestamp())
        # A start past the end is answered as if nothing had been asked.
        walk = _JlabWalk(max(1, min(lower, upper - 1)), upper, _epoch(now))
        if since is None:
            return walk, None
        at = since.get("at")
        if since.get("v") != _CURSOR_FORMAT or not isinstance(at, int | None):
            back = walk.began - _RECONCILE_DAYS * _DAY
            return replace(walk, lower=max(walk.lower, back)), None
        kept = _JlabWalk.of(since.get("walk"))
        if kept is not None and (window is None or window.end is None):
            return kept, at
        if kept is not None and kept.upper == upper:
            return kept, at
        if at is not None and window is None:
            walk = replace(walk, lower=max(1, min(at, upper - 1)))
        return walk, at

    def _cursor(self, walk: _JlabWalk, done: int | None, *, is_last: bool) -> Cursor:
        if not is_last:
            return {"v": _CURSOR_FORMAT, "at": done, "walk": asdict(walk)}
        safe = walk.began - int(self._source.overlap_seconds)
        return {"v": _CURSOR_FORMAT, "at": safe if done is None else max(safe, done)}

    def _listed(self, walk: _JlabWalk) -> Iterator[RawItem]:
        """Yield the entries of a walk, without their comments."""
        while True:
            data, reply = self._ask(walk, limit=self.descriptor.max_records_per_page)
            yield from (self._item(record, reply) for record in data["entries"])
            if not data["entries"] or not _has_more(data, walk.page):
                return
            walk = replace(walk, page=walk.page + 1)

    def _with_comments(self, records: list[Any], reply: Reply) -> Iterator[RawItem]:
        charset = json_records.guessed_charset(reply.body, reply.charset)
        for record in records:
            item = self._item(record, reply, charset)
            yield item
            if not self._args.comments or not isinstance(record, dict):
                continue
            if jlab_entry.comment_count(record) != 0:
                whole, _ = self._single(item.external_id)
                if whole is not None:
                    # Its lists are the entry's own; only the comments are new here.
                    yield from self._comments_of({**whole, **record}, item)

    def _comments_of(
        self, record: Mapping[str, Any], item: RawItem
    ) -> Iterator[RawItem]:
        comments = record.get("comments")
        for comment in comments if isinstance(comments, list) else ():
            yield jlab_entry.comment_item(record, comment, item)

    def _item(self, record: Any, reply: Reply, charset: str | None = None) -> RawItem:
        own = self._fields.external_id(record) or hash_id(record, reply.body)
        return RawItem(own, record, charset=charset, fetched_at=reply.fetched_at)

    def _single(self, number: str) -> tuple[dict[str, Any] | None, Reply]:
        url = f"{self._site}{_API}/{quote(number, safe='')}"
        reply = self._io.http.get(url, allow=_GONE)
        if reply.status in _GONE:
            return None, reply
        told = reply.json()
        answer = told if isinstance(told, dict) else {}
        is_error = answer.get("stat") == "error"
        if is_error and _NOT_THERE in str(answer.get("message", "")).lower():
            return None, reply
        data = answer.get("data")
        entry = data.get("entry", data) if isinstance(data, dict) else None
        if not isinstance(entry, dict) or "lognumber" not in entry:
            raise _unexpected(reply)
        return entry, reply

    def _ask(self, walk: _JlabWalk, *, limit: int) -> tuple[dict[str, Any], Reply]:
        """Return one page; a malformed one is asked for twice."""
        params = [
            ("startdate", str(walk.lower)),
            ("enddate", str(walk.upper)),
            ("limit", str(limit)),
            ("page", str(walk.page)),
            *(("field", name) for name in _FIELDS),
        ]
        url = f"{self._site}{_API}"
        reply = self._io.http.get(url, params=params)
        try:
            return _data(reply.json()), reply
        except IngestionError:
            reply = self._io.http.get(url, params=params)
            return _data(reply.json()), reply


def _data(answer: Any) -> dict[str, Any]:
    """Return the inside of the envelope; anything else is an error, and not nothing."""
    data = answer.get("data") if isinstance(answer, dict) else None
    is_good = isinstance(data, dict) and answer.get("stat") == "ok"
    if not is_good or not isinstance(data and data.get("entries"), list):
        raise IngestionError(
            "The logbook answers with something else than a list of entries.",
            reason="unexpected_shape",
            technical=str(answer)[:_SHOWN],
        )
    assert isinstance(data, dict)
    return data


def _unexpected(reply: Reply) -> IngestionError:
    return IngestionError(
        "The logbook answers with something else than an entry.",
        reason="unexpected_shape",
        technical=reply.text()[:_SHOWN],
    )


def _has_more(data: Mapping[str, Any], page: int) -> bool:
    count = _whole(data.get("pageCount"))
    if count is not None:
        return page + 1 < count
    limit = _whole(data.get("pageLimit"))
    return limit is None or len(data["entries"]) >= limit


def _gap(walk: _JlabWalk, reason: str) -> Gap:
    start = datetime.fromtimestamp(walk.lower, UTC)
    return Gap(start, datetime.fromtimestamp(walk.upper, UTC), reason)


def _stamp(record: Mapping[str, Any]) -> int | None:
    created = record.get("created")
    return _whole(created.get("timestamp")) if isinstance(created, dict) else None


def _whole(value: Any) -> int | None:
    """Return a count that may be written as text, or None."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:12])
    return value if type(value) is int and value >= 0 else None


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())
