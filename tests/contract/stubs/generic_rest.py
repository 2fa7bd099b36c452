"""A REST interface of nobody in particular, with every style of paging, by its path."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode

from tests.contract.stubs.holding import FOREIGN, written_with_bytes
from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from workers.adapters.kit.stub import Stub, StubEntry

Style = Literal["none", "offset", "page", "cursor", "link_header", "anchor"]

WALL_TIME = "%Y-%m-%d %H:%M:%S"

_DEFAULT_SIZE = 20
_MAP = {
    "external_id": "/id",
    "title": "/head/title",
    "text": "/body",
    "authors": "/who/name",
    "entry_time": "/written",
    "tags": "/labels/*/name",
    "logbooks": "/book",
    "reply_to": "/parent",
    "attachments": "/files/*",
    "metadata": "/more",
}


@dataclass(slots=True)
class _Held:
    """One entry as the server holds it."""

    entry: StubEntry
    written: datetime
    changed: datetime
    is_removed: bool = False
    is_spoiled: bool = False
    raw: dict[str, bytes] = field(default_factory=dict)


class RestStub:
    """Lists, one style of paging each; sizes above its cap are cut without a word."""

    def __init__(
        self,
        style: Style = "offset",
        *,
        newest_first: bool = False,
        by_change: bool = False,
        cap: int = 100,
        keeps_removed: bool = False,
        **args: Any,
    ) -> None:
        self._style: Style = style
        self._newest_first = newest_first
        self._by_change = by_change
        self._cap = cap
        self._keeps_removed = keeps_removed
        self._args = args
        self._held: dict[str, _Held] = {}
        self._offset = timedelta()
        # What a server does that knows no paging, or forgets its tokens.
        self.ignores_paging = False
        self.answers_etag = True
        # What it says, with status 200, of an entry that is gone; None: 404.
        self.says_of_gone: Any = None
        # When it says that its list was changed; None: it does not say.
        self.last_modified: datetime | None = None
        self.generation = 0
        # Of these it shows each, and lists none.
        self.unlisted: frozenset[str] = frozenset()
        self._server = StubServer(self._answer)
        self.fault = self._server.fault
        self.requests = self._server.requests
        self.close = self._server.close

    @property
    def base_url(self) -> str:
        return self._server.base_url

    def settings(self) -> Mapping[str, Any]:
        return {
            "adapter": "generic_rest",
            "base_url": self.base_url,
            "timezone": "Europe/Berlin",
            "args": self.args(),
        }

    def args(self) -> dict[str, Any]:
        """Return the settings that describe this style of it."""
        params: dict[str, Any] = {"since": "from", "until": "to", "limit": "size"}
        params["fixed"] = {"order": "desc" if self._newest_first else "asc"}
        if self._by_change:
            params["fixed"]["by"] = "changed"
        params |= {
            "offset": {"offset": "skip"},
            "page": {"page": "page"},
            "cursor": {"cursor": "token"},
            "anchor": {"cursor": "after"},
        }.get(self._style, {})
        order = "modified" if self._by_change else "created"
        args: dict[str, Any] = {
            "list_path": f"/{self._style}/entries",
            "paging": self._style,
            "params": params,
            "items_pointer": "/data/list",
            "total_pointer": "/data/count",
            "next_pointer": "/data/next" if self._style == "cursor" else None,
            "order": f"{order}_{'desc' if self._newest_first else 'asc'}",
            "map": _MAP,
            "ignore": ["changed", "removed", "labels", "files"],
        }
        if self._by_change:
            args["modified_field"] = "/changed"
        if self._keeps_removed:
            args["deleted_field"] = "/removed"
        return args | self._args

    def add(self, entry: StubEntry) -> str:
        external_id = f"e-{entry.number}"
        written = entry.time + self._offset
        changed = datetime.now(UTC) + self._offset if self._by_change else written
        self._held[external_id] = _Held(entry, written, changed)
        return external_id

    def edit(self, external_id: str, **changes: Any) -> str:
        held = self._held[external_id]
        held.entry = replace(held.entry, **changes)
        held.is_spoiled = held.is_removed = False
        held.changed = datetime.now(UTC) + self._offset
        if "time" in changes:
            held.written = held.entry.time + self._offset
        for name in changes:
            held.raw.pop(name, None)
        return external_id

    def delete(self, external_id: str) -> None:
        if self._keeps_removed:
            self._held[external_id].is_removed = True
            self._held[external_id].changed = datetime.now(UTC) + self._offset
        else:
            del self._held[external_id]

    def malform(self, external_id: str) -> None:
        self._held[external_id].is_spoiled = True

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        self._held[external_id].raw[field_name] = data

    def clock_offset(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def _answer(self, request: StubRequest) -> StubAnswer:
        params = dict(request.query)
        if request.method == "POST":
            params = json.loads(request.body)
        match [unquote(part) for part in request.path.strip("/").split("/")]:
            case [style, "entries"] if style == self._style:
                return self._list(request, params)
            case ["entries", external_id] if external_id in self._held:
                return self._send({"entry": self._json(self._held[external_id])})
            case ["entries", _] if self.says_of_gone is not None:
                return self._send(self.says_of_gone)
            case ["files", external_id, filename] if external_id in self._held:
                return self._file(self._held[external_id], filename)
        return StubAnswer(b'{"error":"no such thing"}', 404)

    def _list(self, request: StubRequest, params: Mapping[str, str]) -> StubAnswer:
        found = self._found(params)
        size = min(int(params.get("size", _DEFAULT_SIZE)), self._cap)
        start = 0 if self.ignores_paging else self._start(params, found, size)
        if start is None:
            return StubAnswer(b'{"error":"no such token"}', 400)
        page = found if self._style == "none" else found[start : start + size]
        fault = self._server.listing_fault()
        if fault == "empty_listing":
            page = found = []
        elif fault == "cut_listing":
            page = page[: len(page) // 2]
        end = start + size
        has_more = self._style != "none" and end < len(found)
        headers = {}
        if has_more and self._style == "link_header":
            query = urlencode({**params, "token": f"{self.generation}-{end}"})
            address = f"/link_header/entries?{query}"
            headers["Link"] = f'</x>; rel="prev", <{address}>; rel="next"'
        document = {
            "data": {
                "list": [self._json(one) for one in page],
                "count": len(found),
                "next": f"{self.generation}-{end}" if has_more else None,
            }
        }
        answer = self._send(document, headers)
        if self.last_modified is not None:
            dated = {"Last-Modified": format_datetime(self.last_modified, usegmt=True)}
            if request.headers.get("if-modified-since") in dated.values():
                return StubAnswer(b"", 304, headers=dated)
            return replace(answer, headers={**headers, **dated})
        if not self.answers_etag:
            return answer
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            return StubAnswer(b"", 304, headers={"ETag": etag})
        return replace(answer, headers={**headers, "ETag": etag})

    def _found(self, params: Mapping[str, str]) -> list[_Held]:
        first = _when(params.get("from"), datetime(1900, 1, 1, tzinfo=UTC))
        last = _when(params.get("to"), datetime(2190, 1, 1, tzinfo=UTC))
        key = self._key(params)
        found = [
            one
            for external_id, one in self._held.items()
            if external_id not in self.unlisted
            and first <= key(one)[0].replace(microsecond=0) < last
        ]
        return sorted(found, key=key, reverse=params.get("order") == "desc")

    def _key(self, params: Mapping[str, str]) -> Callable[[_Held], Any]:
        if params.get("by") == "changed":
            return lambda one: (one.changed, one.entry.number)
        return lambda one: (one.written, one.entry.number)

    def _start(
        self, params: Mapping[str, str], found: Sequence[_Held], size: int
    ) -> int | None:
        token = params.get("token")
        if token is not None:
            generation, _, number = token.partition("-")
            return int(number) if generation == str(self.generation) else None
        if "after" in params:
            ids = [f"e-{one.entry.number}" for one in found]
            known = params["after"] in ids
            return ids.index(params["after"]) + 1 if known else 0
        if "page" in params:
            return (int(params["page"]) - 1) * size
        return int(params.get("skip", "0"))

    def _json(self, held: _Held) -> dict[str, Any]:
        entry = held.entry
        written: Any = held.written.isoformat()
        if entry.raw_time is not None:
            written = entry.raw_time
        if held.is_spoiled:
            written = {"spoiled": True}
        return {
            "id": f"e-{entry.number}",
            "head": {"title": self._field(held, "title")},
            "body": self._field(held, "text"),
            "written": written,
            "who": {"name": entry.author} if entry.author else None,
            "labels": [{"name": tag} for tag in entry.tags],
            "book": entry.logbook,
            "parent": f"e-{entry.reply_to}" if entry.reply_to is not None else None,
            "files": [
                {
                    "url": self._address(entry, place),
                    "filename": file.filename,
                    "size": len(file.content),
                }
                for place, file in enumerate(entry.files)
            ],
            "more": dict(entry.metadata),
            "changed": held.changed.isoformat(),
            "removed": held.is_removed,
        }

    def _address(self, entry: StubEntry, place: int) -> str:
        file = entry.files[place]
        name = quote(file.filename, safe="")
        if file.foreign:
            return f"{FOREIGN}/{entry.number}/{place}/{name}"
        return f"/files/e-{entry.number}/{place}-{name}"

    def _file(self, held: _Held, name: str) -> StubAnswer:
        place = name.partition("-")[0]
        files = held.entry.files
        if not place.isdecimal() or int(place) >= len(files):
            return StubAnswer(b"", 404)
        file = files[int(place)]
        if file.missing:
            return StubAnswer(b"", 404)
        return StubAnswer(file.content, media_type="application/octet-stream")

    def _field(self, held: _Held, name: str) -> str:
        if name in held.raw:
            return _place_of(held.entry.number, name)
        return str(getattr(held.entry, name))

    def _send(
        self, document: Any, headers: Mapping[str, str] | None = None
    ) -> StubAnswer:
        raw = {
            _place_of(held.entry.number, name): data
            for held in self._held.values()
            for name, data in held.raw.items()
        }
        return StubAnswer(written_with_bytes(document, raw), headers=headers or {})


def _when(text: str | None, default: datetime) -> datetime:
    return datetime.fromisoformat(text) if text else default


def _place_of(number: int, name: str) -> str:
    return f"@bytes-{number}-{name}@"


make_stub = RestStub


_PAGED = frozenset({"ADP2", "ADP3", "ADP4", "ADP5", "ADP13", "ADP28"})
VARIANTS: dict[str, tuple[Callable[[], Stub], frozenset[str]]] = {
    "page": (lambda: RestStub("page"), _PAGED),
    "cursor": (lambda: RestStub("cursor"), _PAGED),
    "link": (lambda: RestStub("link_header"), _PAGED),
    "anchor": (lambda: RestStub("anchor"), _PAGED),
    "newest-first": (lambda: RestStub(newest_first=True), _PAGED),
    "by-change": (lambda: RestStub(by_change=True), _PAGED | {"ADP7"}),
}
