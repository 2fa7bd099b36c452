"""Phoebus Olog: its search read oldest first, for it knows no other stable order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar

from shared.adapter_contract.contract import (
    AdapterArgs,
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    Gap,
    RawItem,
    Recognition,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.errors import IngestionError
from workers.adapters.olog import log_entry, server_zone
from workers.adapters.olog.server_zone import FOR_EVER, ServerZone

_CURSOR_FORMAT = 1
# What the server clamps to in silence, and what its index can count and skip.
_MOST_PER_PAGE = 1000
_MOST_HITS = 10_000
_RECONCILE_MS = 14 * 86_400_000
_LAST_MS = 7_258_118_400_000


class OlogArgs(AdapterArgs):
    """What may be said of an Olog beyond its address."""

    logbooks: tuple[str, ...] = ()
    """Only entries of these logbooks; none: of all."""
    client: str | None = None
    """How we call ourselves in the server's own log."""
    ask_first_owner: bool = True
    """Ask once who wrote an entry that has been edited, for the edit overwrites its
    owner."""


@dataclass(slots=True)
class _OlogWalk:
    """One pass, oldest first, through what the source has; times are epoch ms."""

    start: int | None
    end: int | None
    began: int
    # The safe place once the walk has ended, so far as earlier walks say.
    done: int | None
    skip: int = 0
    last: int | None = None
    over: bool = False
    rebased: bool = False
    # It stays that of its first page, or `from` would count in another list.
    zone: ServerZone = server_zone.HEEDS_TZ

    def cursor(self, overlap_ms: int) -> Cursor:
        """Return where to go on; only the end of a walk moves the safe place."""
        if not self.over:
            walk = {
                "start": self.start,
                "end": self.end,
                "began": self.began,
                "from": self.skip,
                "last": self.last,
                "zone": [self.zone.offset_ms, self.zone.slack_ms],
            }
            return {"v": _CURSOR_FORMAT, "at": self.done, "walk": walk}
        if self.last is None:
            # Nothing was there: what was asked for is where to look again.
            at = self.start if self.done is None else self.done
            return {"v": _CURSOR_FORMAT, "at": at}
        at = min(self.last, self.began - overlap_ms)
        return {
            "v": _CURSOR_FORMAT,
            "at": at if self.done is None else max(at, self.done),
        }

    def rebase(self) -> tuple[Gap, ...]:
        """Start anew at the last time seen, for the index skips no further."""
        last = self.last if self.last is not None else self.start or 0
        self.skip, self.rebased = 0, True
        if self.start is None or last // 1000 > self.start // 1000:
            self.start = last
            return ()
        second = last // 1000 * 1000
        self.start = second + 1000
        reason = f"more than {_MOST_HITS} entries within one second"
        return (Gap(log_entry.moment(second), log_entry.moment(second + 1000), reason),)


class Olog:
    """A Phoebus Olog service; its answers are read, and nothing is ever written."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="olog",
        title="Phoebus Olog",
        version=1,
        args=OlogArgs,
        capabilities=AdapterCapabilities(
            order="created_asc",
            edits="rescan",
            deletes="impossible",
            replies="group",
            attachments="by_id",
            windows=True,
            counts=True,
        ),
        min_overlap_seconds=1,
        max_records_per_page=_MOST_PER_PAGE,
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self._args = source.args if isinstance(source.args, OlogArgs) else OlogArgs()
        self._api = _api(source.base_url or "")
        self._size = source.page_size
        self._overlap_ms = int(1000 * source.overlap_seconds)

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield logs created since the cursor, or within the window."""
        walk = self._begin(since, window)
        while not walk.over and not self._io.is_cancelled():
            yield self._next_page(walk, window)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of one log; its owner is its editor once it was edited."""
        return log_entry.parse_log(raw, self._api)

    def fetch(self, external_id: str) -> RawItem | None:
        """Return one log by its number; None where the service has none."""
        url = f"{self._api}/logs/{log_entry.quoted(external_id)}"
        reply = self._io.http.get(url, headers=self._headers(), allow=(404, 410))
        if reply.status != HTTPStatus.OK:
            return None
        log = reply.json()
        if not isinstance(log, dict) or log_entry.identity(log) != external_id:
            raise _unexpected(f"{url} is not the log {external_id}")
        return self._item(log, reply.fetched_at)

    def fetch_attachment(self, ref: AttachmentRef) -> Iterator[bytes]:
        """Yield the bytes of a file, piece by piece."""
        url = ref.url or f"{self._api}/attachment/{log_entry.quoted(ref.id)}"
        with self._io.http.stream(url, headers=self._headers()) as pieces:
            yield from pieces

    def check(self) -> SourceReport:
        """Ask for the newest entry, and how many there are."""
        logs, hits = self._ask([("size", "1"), ("sort", "down"), *self._filters()])[:2]
        times = [log_entry.created_ms(log) for log in logs]
        newest = next((time for time in times if time is not None), None)
        return SourceReport(
            newest=None if newest is None else log_entry.moment(newest),
            entries=hits if hits is not None and hits < _MOST_HITS else None,
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise an Olog by the shape of its search."""
        api = _api(url)
        try:
            answer = io.http.get(f"{api}/logs/search", params={"size": "1"}).json()
        except IngestionError:
            return None
        if not isinstance(answer, dict) or not {"hitCount", "logs"} <= answer.keys():
            return None
        return Recognition(
            settings={"base_url": api.removesuffix("/Olog")},
            confidence=0.95,
            why="its search answers with `hitCount` and `logs`",
        )

    def _begin(self, since: Cursor | None, window: Window | None) -> _OlogWalk:
        now = log_entry.epoch_ms(self._io.now())
        oldest = self._source.history_start
        start = None if oldest is None else log_entry.epoch_ms(oldest)
        end = None
        if window is not None:
            start = start if window.start is None else log_entry.epoch_ms(window.start)
            end = None if window.end is None else log_entry.epoch_ms(window.end)
        at, kept = (None, None) if since is None else _read_cursor(since)
        if kept is not None and (window is None or kept.end == end):
            return kept
        zone = server_zone.learn(
            lambda params: self._ask(params)[0], self._io.memory, self._io.now()
        )
        walk = _OlogWalk(start, end, now, at, zone=zone)
        if since is not None and window is None:
            # What cannot be read is read again from where reconciling begins.
            back = now - _RECONCILE_MS if at is None else at - self._overlap_ms
            walk.start = back if start is None else max(start, back)
        return walk

    def _next_page(self, walk: _OlogWalk, window: Window | None) -> AdapterPage:
        gaps: tuple[Gap, ...] = ()
        if walk.skip + self._size > _MOST_HITS:
            gaps = walk.rebase()
        logs, hits, fetched_at = self._ask(self._params(walk))
        walk.skip += len(logs)
        known = [time for time in map(log_entry.created_ms, logs) if time is not None]
        walk.last = max(
            [*known, *([] if walk.last is None else [walk.last])], default=None
        )
        walk.over = self._is_over(walk, len(logs), hits)
        if walk.over and hits is not None and walk.skip < hits:
            reason = f"{hits} announced, {walk.skip} sent"
            gaps = (*gaps, Gap(_maybe(walk.start), _maybe(walk.end), reason))
        seen = walk.began - self._overlap_ms
        seen = seen if walk.end is None else min(walk.end, seen)
        return AdapterPage(
            items=tuple(
                self._item(log, fetched_at) for log in logs if _within(log, window)
            ),
            cursor=walk.cursor(self._overlap_ms),
            gaps=gaps,
            total=self._total(walk, hits),
            complete_to=log_entry.moment(seen) if walk.over else None,
            is_last=walk.over,
        )

    def _total(self, walk: _OlogWalk, hits: int | None) -> int | None:
        is_of_more = walk.rebased or walk.zone.slack_ms > 0 or hits == _MOST_HITS
        return None if is_of_more else hits

    def _is_over(self, walk: _OlogWalk, count: int, hits: int | None) -> bool:
        if count == 0:
            return True
        if hits is None or hits >= _MOST_HITS:
            return hits is None and count < self._size
        return walk.skip >= hits

    def _params(self, walk: _OlogWalk) -> list[tuple[str, str]]:
        params = [("sort", "up"), ("size", str(self._size)), ("from", str(walk.skip))]
        if walk.start is not None:
            params.append(("start", walk.zone.lower(walk.start)))
        end = walk.zone.upper(walk.end) if walk.end is not None else FOR_EVER
        return [*params, ("end", end), ("tz", "UTC"), *self._filters()]

    def _filters(self) -> list[tuple[str, str]]:
        books = self._args.logbooks
        return [("logbooks", ",".join(books))] if books else []

    def _ask(
        self, params: Sequence[tuple[str, str]]
    ) -> tuple[list[Any], int | None, datetime]:
        url = f"{self._api}/logs/search"
        reply = self._io.http.get(url, params=params, headers=self._headers())
        answer = reply.json()
        logs = answer.get("logs") if isinstance(answer, dict) else None
        if not isinstance(logs, list):
            raise _unexpected("the search did not answer with `logs`")
        hits = answer.get("hitCount")
        exact = isinstance(hits, int) and not isinstance(hits, bool) and hits >= 0
        return logs, hits if exact else None, reply.fetched_at

    def _headers(self) -> Mapping[str, str]:
        named = {"X-Olog-Client-Info": self._args.client} if self._args.client else {}
        return {"Accept": "application/json", **named}

    def _item(self, log: Any, fetched_at: datetime) -> RawItem:
        external_id = log_entry.identity(log)
        numbered = isinstance(log, dict) and not external_id.startswith("sha256:")
        payload: Any = log
        if numbered and log.get("modifyDate") is not None:
            owner = self._first_owner(external_id, log.get("createdDate"))
            payload = log if owner is None else {"log": log, "first_owner": owner}
        url = f"{self._api}/logs/{log_entry.quoted(external_id)}" if numbered else None
        return RawItem(external_id, payload, url=url, fetched_at=fetched_at)

    def _first_owner(self, external_id: str, created: Any) -> str | None:
        """Return who wrote a log that was edited since, asked once and remembered."""
        if not self._args.ask_first_owner:
            return None
        key = f"owner:{external_id}"
        kept = self._io.memory.get(key)
        # A rebuilt index gives its numbers out again.
        if isinstance(kept, dict) and kept.get("created") == created:
            owner = kept.get("owner")
            return owner if isinstance(owner, str) else None
        url = f"{self._api}/logs/archived/{log_entry.quoted(external_id)}"
        reply = self._io.http.get(
            url, headers=self._headers(), allow=(400, 403, 404, 405, 500)
        )
        if reply.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            # Its archive cannot be searched just now; its logs could.
            return None
        has_archive = reply.status == HTTPStatus.OK
        archived = reply.json() if has_archive else None
        owner = log_entry.first_owner(archived, external_id)
        self._io.memory.put(key, {"created": created, "owner": owner})
        return owner


def _api(url: str) -> str:
    base = url.rstrip("/")
    return base if base.endswith("/Olog") else f"{base}/Olog"


def _read_cursor(since: Cursor) -> tuple[int | None, _OlogWalk | None]:
    """Return the safe place and the walk under way; neither of an unknown format."""
    at = since.get("at")
    if since.get("v") != _CURSOR_FORMAT or not _is_ms(at, missing=True):
        return None, None
    walk = since.get("walk")
    if not isinstance(walk, Mapping):
        return at, None
    start, end, last = walk.get("start"), walk.get("end"), walk.get("last")
    began, skip = walk.get("began"), walk.get("from")
    if not all(_is_ms(time, missing=True) for time in (start, end, last)):
        return at, None
    if began is None or not _is_ms(began) or not isinstance(skip, int):
        return at, None
    zone = ServerZone.read(walk.get("zone"))
    if not 0 <= skip <= _MOST_HITS or zone is None:
        return at, None
    return at, _OlogWalk(start, end, began, at, skip=skip, last=last, zone=zone)


def _is_ms(value: Any, *, missing: bool = False) -> bool:
    if value is None:
        return missing
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and -_LAST_MS <= value <= _LAST_MS


def _within(log: Any, window: Window | None) -> bool:
    """Tell whether a log belongs to the window; one without a time stays."""
    time = None if window is None else log_entry.created_ms(log)
    if window is None or time is None:
        return True
    if window.start is not None and time < log_entry.epoch_ms(window.start):
        return False
    return window.end is None or time < log_entry.epoch_ms(window.end)


def _maybe(ms: int | None) -> datetime | None:
    return None if ms is None else log_entry.moment(ms)


def _unexpected(what: str) -> IngestionError:
    return IngestionError(f"Olog: {what}.", reason="unexpected_shape")
