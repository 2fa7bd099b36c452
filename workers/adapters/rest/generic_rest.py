"""Any logbook that answers lists of JSON: described by settings, not by code."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self, cast
from urllib.parse import quote

from shared.adapter_contract.conditional_fetch import NOT_MODIFIED, Answered
from shared.adapter_contract.contract import (
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    Gap,
    RawItem,
    Reply,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import Entry
from shared.adapter_contract.mapped_record import MappedRecord
from shared.errors import MalformedEntryError
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import hash_id
from workers.adapters.mapping.map_settings import canonical
from workers.adapters.mapping.pointer import Pointer
from workers.adapters.rest import list_answer, paging
from workers.adapters.rest.cursor import RestCursor
from workers.adapters.rest.paging import Pager, PageRequest
from workers.adapters.rest.settings import RestArgs

# Entries that are asked for one by one: so many fit between two signs of life.
_DETAILS = 20
_GONE = (404, 410)
# A place that was remembered may be refused: its token is of yesterday.
_REFUSED = (400, 404, 410, 416, 422)
_SECOND = timedelta(seconds=1)
# Clocks differ: what is written "tomorrow" by a source's own clock is not left out.
_AHEAD = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Listed:
    """One item of a list, and the time by which the list is ordered."""

    raw: RawItem
    at: datetime | None


class GenericREST:
    """Walks a list of JSON in any of the usual styles of paging."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="generic_rest",
        title="REST interface, described by settings",
        version=1,
        capabilities=AdapterCapabilities(
            order="created_asc",
            edits="rescan",
            deletes="rescan",
            replies="parent",
            attachments="by_url",
            readers="entry",
            windows=True,
            counts=True,
        ),
        args=RestArgs,
    )

    def __new__(cls, source: Source, io: SourceIO) -> Self:
        """Be of the kind that has what the settings describe."""
        del io
        args: RestArgs = source.args
        if args.item_path is None:
            return cast("Self", object.__new__(_ListOnly))
        return super().__new__(cls)

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self.args: RestArgs = source.args
        self._map = FieldMap.of(source, self.args, self.args.fields())
        self._url = _joined(source.base_url or "", self.args.list_path)
        self._overlap = timedelta(seconds=source.overlap_seconds)
        self._stamp = list_answer.stamps(source, self.args)

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities of this source, as its settings have them."""
        args = self.args
        named = {canonical(name) for name in args.map}
        is_windowed = bool(args.params.since and args.params.until)
        knows_edits = args.order.startswith("modified") and args.params.since
        return replace(
            self.descriptor.capabilities,
            order=args.order,
            edits="cursor" if knows_edits else "rescan",
            deletes=args.deletes,
            replies="parent" if "reply_to" in named else "none",
            attachments="by_url" if "attachments" in named else "none",
            readers="entry" if "readers" in named else "none",
            windows=is_windowed,
            counts=args.total_pointer is not None,
        )

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield the list from the cursor on, or its part that lies in the window."""
        began = self._io.now()
        known = RestCursor.of(since)
        place = self._begun(replace(known, answered=None), window, began)
        bounds = self._bounds(place, window)
        pager = Pager(self.args, self._url, self._source.page_size)
        counted: Counter[str] = Counter()
        is_resumed = place.position is not None
        last: datetime | None = None
        is_first = True
        kept = place.cursor()
        while not self._io.is_cancelled():
            ask = pager.ask(place.position, bounds)
            conditions = self._conditions(known, ask, window)
            reply = self._ask(ask, conditions, is_resumed=is_resumed)
            if reply is None:
                place, is_resumed = replace(place, position=None), False
                continue
            if reply.status == NOT_MODIFIED:
                yield AdapterPage((), known.cursor(), complete_to=began)
                return
            is_resumed = False
            document = reply.json()
            items = list_answer.items(self.args, document, reply)
            total = list_answer.total(self.args, document)
            listed = self._listed(items, reply, counted)
            ids = [one.raw.external_id for one in listed]
            turn = pager.after(place.position, reply, document, ids, total)
            if turn.problem is None:
                times = (one.at for one in listed)
                last = list_answer.hold_to_order(self.args, times, last)
            is_end = turn.is_end or self._is_known(listed, place, window)
            place = self._further(place, listed, began)
            if is_end:
                place = self._ended(place, ids)
                if is_first and turn.problem is None:
                    whole = Answered.of(reply, ask.question, self._source.read_by)
                    place = replace(place, answered=whole)
            else:
                place = replace(place, position=turn.position)
            before, kept = kept, self._kept(place, bounds, window).cursor()
            page = AdapterPage(
                items=(),
                cursor=kept,
                gaps=self._gaps(place, window, turn.problem),
                total=total,
                complete_to=began if is_end else None,
            )
            yield from self._chunks(listed, before, page)
            if is_end:
                return
            is_first = False

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of an item of the list."""
        external_id = raw.external_id or self._map.external_id(raw.payload) or ""
        return self._map.entry(raw.payload, external_id)

    def look_up(self, raw: RawItem) -> MappedRecord:
        """Return the keys of an item, and those that it lacks of the settings."""
        return self._map.look_up(raw.payload, self.args)

    def fetch(self, external_id: str) -> RawItem | None:
        """Return the entry as its own address tells it; None: it is gone."""
        reply, item = self._single(external_id)
        # Some say with status 200, and no entry, that it is gone.
        return self._raw(external_id, item, reply) if item else None

    def check(self) -> SourceReport:
        """Read the first page, and report what it holds."""
        place = self._begun(RestCursor(), None, self._io.now())
        pager = Pager(self.args, self._url, min(self._source.page_size, 10))
        ask = pager.ask(None, self._bounds(place, None))
        reply = self._ask(ask, {}, is_resumed=False)
        assert reply is not None
        document = reply.json()
        listed = self._listed(
            list_answer.items(self.args, document, reply), reply, Counter()
        )
        problems = [problem for one in listed if (problem := self._problem(one.raw))]
        times = [one.at for one in listed if one.at]
        return SourceReport(
            newest=max(times, default=None),
            entries=list_answer.total(self.args, document),
            problems=tuple(dict.fromkeys(problems)),
        )

    def _begun(
        self, place: RestCursor, window: Window | None, began: datetime
    ) -> RestCursor:
        """Fix the upper bound of a walk that begins with the newest."""
        if not self.args.is_descending or place.upper is not None:
            return place
        upper = window.end if window and window.end else began + _AHEAD
        return replace(place, upper=upper)

    def _bounds(self, place: RestCursor, window: Window | None) -> dict[str, str]:
        params = self.args.params
        bounds: dict[str, str] = {}
        lower = self._lower(place, window)
        if params.since and lower:
            bounds[params.since] = paging.sent(self.args, self._source.timezone, lower)
        upper = window.end if window else None
        if self.args.is_descending:
            upper = place.lowest or place.upper
        if params.until and upper:
            # Sent in whole seconds, and read by some as excluded.
            bounds[params.until] = paging.sent(
                self.args, self._source.timezone, upper + _SECOND
            )
        return bounds

    def _lower(self, place: RestCursor, window: Window | None) -> datetime | None:
        """Return from when on to ask: the cursor less its overlap, or the window."""
        floor = window.start if window else self._source.history_start
        if place.since is None:
            lower = floor
        else:
            lower = place.since - self._overlap
            lower = max(lower, floor) if floor and window else lower
        if lower and self.args.since_bound == "exclusive":
            lower -= _SECOND
        return lower

    def _conditions(
        self, known: RestCursor, ask: PageRequest, window: Window | None
    ) -> dict[str, str]:
        """Return headers that have the server send only a changed list to the tail."""
        if known.answered is None or window is not None or self.args.detail:
            return {}
        return known.answered.conditions(ask.question, self._source.read_by)

    def _ask(
        self, ask: PageRequest, conditions: dict[str, str], *, is_resumed: bool
    ) -> Reply | None:
        """Ask for a page; None where a remembered place is no longer known."""
        allow = _REFUSED if is_resumed else ()
        if self.args.method == "POST":
            body = json.dumps(dict(ask.params)).encode()
            reply = self._io.http.post(ask.url, body=body, allow=allow)
        else:
            params = ask.params or None
            also = (NOT_MODIFIED,) if conditions else ()
            reply = self._io.http.get(
                ask.url, params=params, headers=conditions, allow=(*allow, *also)
            )
        return None if is_resumed and reply.status in _REFUSED else reply

    def _listed(
        self, items: list[Any], reply: Reply, counted: Counter[str]
    ) -> list[_Listed]:
        listed = []
        for item in items:
            external_id = self._map.external_id(item) or self._numbered(item, counted)
            raw = RawItem(external_id, item, fetched_at=reply.fetched_at)
            listed.append(_Listed(raw, self._stamp(item)))
        return listed

    def _numbered(self, item: Any, counted: Counter[str]) -> str:
        own = hash_id(item, repr(type(item)).encode())
        counted[own] += 1
        return own if counted[own] == 1 else f"{own}#{counted[own]}"

    def _is_known(
        self, listed: list[_Listed], place: RestCursor, window: Window | None
    ) -> bool:
        """Tell whether a list with the newest first has reached known entries."""
        if not self.args.is_descending:
            return False
        floor = self._lower(place, window)
        times = [one.at for one in listed if one.at]
        return bool(floor and times and max(times) < floor)

    def _further(
        self, place: RestCursor, listed: list[_Listed], began: datetime
    ) -> RestCursor:
        """Move on by a page; never beyond now, whatever its entries claim (AD-08)."""
        times = [one.at for one in listed if one.at]
        if not times:
            return place
        newest = min(max(times), began - self._overlap)
        if self.args.is_descending:
            lowest = min([*times, place.lowest] if place.lowest else times)
            newest = max(newest, place.newest) if place.newest else newest
            return replace(place, lowest=lowest, newest=newest)
        since = max(newest, place.since) if place.since else newest
        if self.args.is_ascending and self.args.params.since:
            return replace(place, since=since)
        newest = max(since, place.newest) if place.newest else since
        return replace(place, newest=newest)

    def _kept(
        self, place: RestCursor, bounds: dict[str, str], window: Window | None
    ) -> RestCursor:
        """Return the place to store; a position counts within its own bounds only."""
        is_same = self._bounds(place, window) == bounds
        return place if is_same else replace(place, position=None)

    def _ended(self, place: RestCursor, ids: list[str]) -> RestCursor:
        """Return the place once a walk has come to its end."""
        since = place.since
        if place.newest is not None:
            since = max(place.newest, since) if since else place.newest
        args = self.args
        if args.paging != "anchor" or args.is_descending or args.params.since:
            return RestCursor(since=since)
        # A list that only grows goes on behind the last one seen.
        return RestCursor(since=since, position=ids[-1] if ids else place.position)

    def _chunks(
        self, listed: list[_Listed], before: dict[str, Any], page: AdapterPage
    ) -> Iterator[AdapterPage]:
        """Yield the page; one that is larger than asked for comes in several."""
        has_details = self.args.detail
        most = self._source.page_size
        if has_details:
            most = min(most, _DETAILS)
        is_first = True
        while listed or is_first:
            is_first = False
            raws = [one.raw for one in listed[:most]]
            # What is yielded is held no longer.
            del listed[:most]
            if has_details:
                raws = [self._detailed(raw) for raw in raws]
            items = tuple(raws)
            if listed:
                yield AdapterPage(items, before, total=page.total)
            else:
                yield replace(page, items=items)

    def _detailed(self, raw: RawItem) -> RawItem:
        """Return the item as its own address tells it; one that is gone, as listed."""
        own = self._map.external_id(raw.payload)
        if own is None:
            return raw
        reply, item = self._single(own)
        return raw if reply.status in _GONE else self._raw(own, item, reply)

    def _single(self, external_id: str) -> tuple[Reply, Any]:
        path = (self.args.item_path or "").replace("{id}", quote(external_id, ""))
        url = _joined(self._source.base_url or "", path)
        reply = self._io.http.get(url, allow=_GONE)
        if reply.status in _GONE:
            return reply, None
        return reply, Pointer(self.args.item_pointer).first(reply.json())

    def _raw(self, external_id: str, item: Any, reply: Reply) -> RawItem:
        if not isinstance(item, dict) or not item:
            raise list_answer.unexpected(reply, "the entry is no object")
        return RawItem(external_id, item, fetched_at=reply.fetched_at)

    def _gaps(
        self, place: RestCursor, window: Window | None, problem: str | None
    ) -> tuple[Gap, ...]:
        if problem is None:
            return ()
        start = window.start if window else place.since
        return (Gap(start, window.end if window else None, problem),)

    def _problem(self, raw: RawItem) -> str | None:
        try:
            self.parse(raw)
        except MalformedEntryError as exc:
            return exc.message
        return None


class _ListOnly(GenericREST):
    """Without a path of one entry; None is how a class says that it lacks a method."""

    fetch = None  # type: ignore[assignment]


def _joined(base: str, path: str) -> str:
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if path else base
