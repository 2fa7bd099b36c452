"""The ALS eLog: one question by time, answered whole; and the same records in files."""

import math
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urljoin

from pydantic import Field

from shared.adapter_contract.contract import (
    AdapterArgs,
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    RawItem,
    Recognition,
    Reply,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import Entry, TextFormat
from shared.errors import IngestionError
from workers.adapters import als_text
from workers.adapters.files import json_records
from workers.adapters.files.first_record import recognise_by_keys
from workers.adapters.files.json_records import JSONForm
from workers.adapters.files.utf8_text import most_line_bytes
from workers.adapters.files.walk import FileWalk
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import hash_id
from workers.adapters.mapping.map_settings import Selector

_CURSOR_FORMAT = 1
# When the logbook began.
_FIRST = 1_041_379_200
_DAY = 86_400
# An entry that is dated ahead is found too.
_AHEAD = timedelta(days=3650)
_RECONCILE_DAYS = 14
_SPLIT_ON = frozenset(("timeout", "too_large"))
_SHIFT_SUMMARY = "shift_summary"
_LOGIN = re.compile(r"type\s{0,9}=\s{0,9}[\"']?password", re.IGNORECASE)
_ERROR = re.compile(
    r"\b(?:error|exception|fatal|denied|forbidden|unavailable|traceback|failed"
    r"|not authori[sz]ed|timed? ?out)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 65_536
_KEYS = frozenset(("id", "timestamp", "subject", "details"))
_SHOWN = 200
_FIELDS: dict[str, Selector] = {
    "external_id": "id",
    "entry_time": "timestamp",
    "authors": "author",
    "title": "subject",
    "text": "details",
    "tags": "category",
    "reply_to": "linkedto",
    "level": "level",
    "attachments": "attachments",
    "metadata.loto_tag": "tag",
}


class AlsArgs(AdapterArgs):
    """What may be said of an ALS eLog beyond its address."""

    attachment_base: str | None = None
    """What files lie under; none: the logbook's own host."""
    chunk_days: int = Field(365, ge=1)
    """Days asked for at once; fewer after a time-out."""
    text_format: TextFormat | None = None
    """How texts are marked up, as they come; none: the escapes that the logbook adds
    are undone, and each text tells whether it is HTML."""


class Als:
    """An ALS eLog, by its `op=retrieve` or by a file of its records."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="als",
        title="ALS eLog",
        version=2,
        args=AlsArgs,
        capabilities=AdapterCapabilities(
            order="created_asc",
            edits="rescan",
            deletes="rescan",
            replies="parent",
            attachments="by_url",
            windows=True,
        ),
        min_overlap_seconds=1,
        max_records_per_page=5000,
        aliases=("als_logbook",),
        place="either",
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self._args = source.args if isinstance(source.args, AlsArgs) else AlsArgs()
        self._most_line = most_line_bytes(source.max_entry_bytes)
        self._url = source.base_url or ""
        self._base = self._args.attachment_base or urljoin(self._url, "/")
        self._map = FieldMap(
            _FIELDS,
            text_format=self._args.text_format or "plain",
            attachment_base=self._base,
        )

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities; files cannot be asked by time."""
        known = self.descriptor.capabilities
        is_file = self._source.path is not None
        return replace(known, windows=False, deletes="invisible") if is_file else known

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield entries written since the cursor, or within the window."""
        if self._source.path is not None:
            form = JSONForm(most_line=self._most_line)
            walk = FileWalk(self._source, self._io, form, self._identify)
            yield from walk.pages(since)
        else:
            yield from self._by_time(since, window)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of a record."""
        record, flags = json_records.record_of(raw, self._most_line)
        record = {**record, "attachments": _slashed(record.get("attachments"))}
        text_format = self._args.text_format or self._unescape(record)
        entry = self._map.entry(record, raw.external_id, flags=flags)
        entry = replace(entry, text_format=text_format)
        if entry.metadata.get("loto_tag", "").strip() == "0":
            del entry.metadata["loto_tag"]
        if entry.level == _SHIFT_SUMMARY:
            return replace(entry, kind=_SHIFT_SUMMARY)
        return entry

    def check(self) -> SourceReport:
        """Ask for the last day."""
        now = _epoch(self._io.now())
        if self._source.path is None:
            self._ask(now - _DAY, now)
        return SourceReport()

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a path by its first record's keys; an address tells nothing."""
        return recognise_by_keys(url, io, _KEYS, "records of an ALS eLog")

    def _by_time(
        self, since: Cursor | None, window: Window | None
    ) -> Iterator[AdapterPage]:
        began = self._io.now()
        now = _epoch(began)
        overlap = int(self._source.overlap_seconds)
        at = self._lower(since, window, now)
        upper = _epoch(began + _AHEAD)
        if window is not None and window.end is not None:
            upper = math.ceil(window.end.timestamp())
        reached = at if since is not None else None
        most = step = self._args.chunk_days * _DAY
        while at < upper and not self._io.is_cancelled():
            end = at + step if at + step < min(now, upper) else upper
            try:
                items = self._items(at, end)
            except IngestionError as exc:
                span = min(end, now) - at
                if exc.reason not in _SPLIT_ON or span <= _DAY:
                    raise
                step = span // 2
                continue
            step = min(most, 2 * step)
            safe = min(end, now - overlap)
            reached = safe if reached is None else max(reached, safe)
            yield from self._paged(items, at, reached)
            at = end

    def _lower(self, since: Cursor | None, window: Window | None, now: int) -> int:
        first = self._source.history_start
        lower = _FIRST if first is None else _epoch(first)
        if window is not None and window.start is not None:
            lower = _epoch(window.start)
        if since is None:
            return lower
        at = since.get("at")
        if since.get("v") == _CURSOR_FORMAT and type(at) is int:
            return max(lower, at) if window is not None else at
        return max(lower, now - _RECONCILE_DAYS * _DAY)

    def _paged(
        self, items: deque[RawItem], at: int, reached: int
    ) -> Iterator[AdapterPage]:
        """Yield the items of one answer; only the last page moves the cursor on."""
        size = self._source.page_size
        while len(items) > size:
            part = tuple(items.popleft() for _ in range(size))
            yield AdapterPage(part, _cursor(min(at, reached)))
            del part
        last = tuple(items)
        items.clear()
        yield AdapterPage(last, _cursor(reached))

    def _items(self, start: int, end: int) -> deque[RawItem]:
        reply, records = self._ask(start, end)
        charset = json_records.guessed_charset(reply.body, reply.charset)
        repeats: Counter[str] = Counter()
        found: list[tuple[float, RawItem]] = []
        for record in records:
            own = self._identify(record)
            if own is None:
                own = hash_id(record, f'"{type(record)}"'.encode())
                repeats[own] += 1
                own = own if repeats[own] == 1 else f"{own}#{repeats[own]}"
            item = RawItem(own, record, charset=charset, fetched_at=reply.fetched_at)
            found.append((_order(record), item))
        found.sort(key=lambda pair: pair[0])
        return deque(item for _, item in found)

    def _ask(self, start: int, end: int) -> tuple[Reply, list[Any]]:
        """Return the records of a stretch of time; a wrong shape is asked for twice."""
        params = {"op": "retrieve", "start": str(start), "end": str(end)}
        reply = self._io.http.get(self._url, params=params)
        try:
            return reply, _records(reply)
        except IngestionError:
            reply = self._io.http.get(self._url, params=params)
            return reply, _records(reply)

    def _unescape(self, record: dict[str, Any]) -> TextFormat:
        """Undo what the logbook adds to title and text, and say what the text is."""
        title, text = record.get("subject"), record.get("details")
        if isinstance(title, str):
            record["subject"] = als_text.read_title(title)
        if not isinstance(text, str):
            return "plain"
        record["details"], text_format = als_text.read_text(text)
        return text_format

    def _identify(self, payload: Any) -> str | None:
        if type(payload) is not dict:
            payload, _ = json_records.value_of(payload, None)
        return self._map.external_id(payload)


def _records(reply: Reply) -> list[Any]:
    """Return the list that an answer is; a page without error or login is empty."""
    text = reply.text().strip()
    if not text:
        return []
    if text.startswith("["):
        found = reply.json()
        if isinstance(found, list):
            return found
    seen = text[:_LOOKED_AT]
    if _LOGIN.search(seen):
        message = "The logbook answers with a login; check `auth`."
        raise IngestionError(message, reason="login_required")
    if seen.startswith("<") and not _ERROR.search(seen):
        return []
    raise IngestionError(
        "The logbook answers with neither a list nor an empty page.",
        reason="unexpected_shape",
        technical=text[:_SHOWN],
    )


def _order(record: Any) -> float:
    """Return by what records are sorted; those without a time come first."""
    stamp = record.get("timestamp") if isinstance(record, dict) else None
    try:
        return float(stamp) if isinstance(stamp, str | int | float) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _slashed(attachments: Any) -> Any:
    """Return attachments whose paths are written as an address has them."""
    if isinstance(attachments, str):
        return _normal(attachments) or None
    if isinstance(attachments, dict):
        url = attachments.get("url")
        return {**attachments, "url": _normal(url)} if isinstance(url, str) else None
    if isinstance(attachments, list):
        return [each if each is None else _slashed(each) for each in attachments]
    return attachments


def _normal(path: str) -> str:
    path = path.strip().replace("\\", "/")
    scheme, mark, rest = path.partition("://")
    if mark:
        return f"{scheme}://{re.sub('/{2,}', '/', rest)}"
    return re.sub("/{2,}", "/", path)


def _cursor(at: int) -> dict[str, Any]:
    return {"v": _CURSOR_FORMAT, "at": at}


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())
