"""A Phoebus Olog that imitates what its search does to those who trust it.

Read in Olog/phoebus-olog: `LogSearchUtil` (bounds, zone, sort), `LogRepository`
(archive, what is gone), `LogResource` (edits, replies, files by name) and
`AttachmentResource`. That a search reaches no further than 10,000 is Elasticsearch's.
"""

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tests.contract.stubs.holding import written_with_bytes
from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from workers.adapters.kit.stub import StubEntry

_EDITOR = "e.editor"
_DEFAULT_SIZE, _MOST_PER_PAGE, _MOST_HITS = 100, 1000, 10_000
# The archive is searched without a size, and Elasticsearch then answers so many.
_MOST_ARCHIVED = 10
_SERVER_ZONE = "Europe/Zurich"
_FORMATS = ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")


@dataclass(slots=True)
class _Log:
    """One log as the service holds it."""

    entry: StubEntry
    created: datetime
    owner: str | None
    modified: datetime | None = None
    spoiled: bool = False
    raw: dict[str, bytes] = field(default_factory=dict)
    archived: list[dict[str, Any]] = field(default_factory=list)


class OlogStub:
    """The service's search, logs, archive and attachments."""

    def __init__(self) -> None:
        self._logs: dict[int, _Log] = {}
        self._groups: dict[int, str] = {}
        self._offset = timedelta()
        # `tz` is heeded from the end of 2025 on; before, the server's zone counts.
        self.heeds_tz = True
        self.zone = _SERVER_ZONE
        # An archive that was never written to has nothing to sort by.
        self.has_archive = True
        self._server = StubServer(self._answer)
        self.fault = self._server.fault
        self.requests = self._server.requests
        self.close = self._server.close
        self.stop, self.start = self._server.stop, self._server.start

    def settings(self) -> Mapping[str, Any]:
        """Return what a source needs to read this."""
        return {"adapter": "olog", "base_url": self._server.base_url}

    def add(self, entry: StubEntry) -> str:
        """Take a log in; a reply marks its parent too, without a word about it."""
        if entry.reply_to is not None:
            group = self._groups.get(entry.reply_to) or str(uuid.uuid4())
            self._groups[entry.reply_to] = self._groups[entry.number] = group
        created = entry.time + self._offset
        self._logs[entry.number] = _Log(entry, created, entry.author)
        return str(entry.number)

    def edit(self, external_id: str, **changes: Any) -> str:
        """Archive the old version and overwrite its owner; files come silently."""
        log = self._logs[int(external_id)]
        if set(changes) != {"files"}:
            log.archived.insert(0, self._json(log))
            log.modified = datetime.now(UTC) + self._offset
            log.owner = changes.get("author", _EDITOR)
        log.entry = replace(log.entry, **changes)
        log.spoiled = False
        for name in changes:
            log.raw.pop(name, None)
        return external_id

    def delete(self, external_id: str) -> None:
        """Refuse, as the service does."""
        raise LookupError(f"an Olog deletes nothing, and not {external_id}")

    def malform(self, external_id: str) -> None:
        """Let a log say its time in words."""
        self._logs[int(external_id)].spoiled = True

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        """Put raw bytes into a string of the answer."""
        self._logs[int(external_id)].raw[field_name] = data

    def clock_offset(self, seconds: float) -> None:
        """Let the server's clock go wrong; it dates what it takes in."""
        self._offset = timedelta(seconds=seconds)

    def _answer(self, request: StubRequest) -> StubAnswer:
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        params = {name.lower(): value for name, value in request.query}
        match parts:
            case ["Olog", "logs", "search"]:
                return self._search(params, bare=False)
            case ["Olog", "logs"]:
                return self._search(params, bare=True)
            case ["Olog", "logs", "archived", number]:
                return self._archive(number)
            case ["Olog", "logs", "attachments", number, filename]:
                return self._file_by_name(number, filename)
            case ["Olog", "logs", number]:
                log = self._find(number)
                return self._send(self._json(log)) if log else _status(404)
            case ["Olog", "attachment", name]:
                return self._file(name)
        return _status(404)

    def _search(self, params: Mapping[str, str], *, bare: bool) -> StubAnswer:
        if "query" in params:
            found, page = list(self._logs.values()), list(self._logs.values())
        else:
            size = int(params.get("size") or params.get("limit") or _DEFAULT_SIZE)
            skip = int(params.get("from") or 0)
            size = min(size, _MOST_PER_PAGE)
            if skip + size > _MOST_HITS:
                return _status(500)
            try:
                found = self._matching(params)
            except ValueError:
                return _status(400)
            self._sort(found, params.get("sort", ""))
            page = found[skip : skip + size]
        mode = self._server.listing_fault()
        if mode == "empty_listing":
            found, page = [], []
        elif mode == "cut_listing":
            page = page[: len(page) // 2]
        logs = [self._json(log) for log in page]
        hits = min(len(found), _MOST_HITS)
        return self._send(logs if bare else {"hitCount": hits, "logs": logs})

    def _matching(self, params: Mapping[str, str]) -> list[_Log]:
        named = params.get("tz") if self.heeds_tz else None
        try:
            zone = ZoneInfo(named or self.zone)
        except ZoneInfoNotFoundError:
            # As Java does with a name that it does not know.
            zone = ZoneInfo("UTC")
        now = datetime.now(UTC) + self._offset
        start = _when(params.get("start"), zone, now) or datetime.fromtimestamp(0, UTC)
        end = _when(params.get("end"), zone, now) or now
        if start > end:
            raise ValueError(params["start"])
        # The index is asked in whole seconds.
        first, last = int(start.timestamp()), int(end.timestamp())
        books = [name for name in params.get("logbooks", "").split(",") if name]
        return [
            log
            for log in self._logs.values()
            if first <= log.created.timestamp() <= last
            and (not books or log.entry.logbook in books)
        ]

    def _sort(self, found: list[_Log], order: str) -> None:
        if order.lower().startswith(("up", "asc")):
            found.sort(key=lambda log: log.created)
        elif order.lower().startswith(("down", "desc")):
            found.sort(key=lambda log: log.created, reverse=True)
        else:
            random.Random(len(self._server.requests())).shuffle(found)

    def _archive(self, number: str) -> StubAnswer:
        if not self.has_archive:
            return _status(500)
        # It looks for `number*`, whatever log that may be; never modified comes last.
        found = [
            version
            for one, log in self._logs.items()
            if str(one).startswith(number)
            for version in log.archived
        ]
        found.sort(key=lambda version: -(version["modifyDate"] or 0))
        return self._send({"hitCount": len(found), "logs": found[:_MOST_ARCHIVED]})

    def _file_by_name(self, number: str, filename: str) -> StubAnswer:
        log = self._find(number)
        files = log.entry.files if log else ()
        named = [file for file in files if file.filename == filename]
        if log is not None and len(named) != 1:
            # Two of one name, or none: nothing, and status 200.
            return StubAnswer(b"", media_type="application/octet-stream")
        if log is None or named[0].missing:
            return _status(404)
        return StubAnswer(named[0].content, media_type="application/octet-stream")

    def _file(self, name: str) -> StubAnswer:
        number, _, place = name.partition("f")
        log = self._find(number)
        if log is None or not place.isdecimal() or int(place) >= len(log.entry.files):
            return _status(404)
        file = log.entry.files[int(place)]
        if file.missing:
            return _status(404)
        return StubAnswer(file.content, media_type="application/octet-stream")

    def _find(self, number: str) -> _Log | None:
        return self._logs.get(int(number)) if number.isdecimal() else None

    def _json(self, log: _Log) -> dict[str, Any]:
        entry = log.entry
        created: Any = _epoch_ms(log.created)
        if entry.raw_time is not None or log.spoiled:
            created = "yesterday" if log.spoiled else entry.raw_time
        return {
            "id": entry.number,
            "owner": log.owner,
            "source": self._field(log, "text"),
            "description": self._field(log, "text"),
            "level": "Info",
            "title": self._field(log, "title"),
            "state": "Active",
            "createdDate": created,
            "modifyDate": None if log.modified is None else _epoch_ms(log.modified),
            "logbooks": [{"name": entry.logbook, "owner": "ops"}],
            "tags": [{"name": tag} for tag in entry.tags],
            "properties": self._properties(log),
            "attachments": [
                {
                    "id": f"{entry.number}f{place}",
                    "filename": file.filename,
                    "fileMetadataDescription": "application/octet-stream",
                }
                for place, file in enumerate(entry.files)
            ],
            "events": [],
        }

    def _properties(self, log: _Log) -> list[dict[str, Any]]:
        found = []
        if log.entry.metadata:
            attributes = [
                {"name": name, "value": value}
                for name, value in log.entry.metadata.items()
            ]
            found.append({"name": "Kit", "owner": None, "attributes": attributes})
        group = self._groups.get(log.entry.number)
        if group:
            attributes = [{"name": "id", "value": group}]
            found.append(
                {"name": "Log Entry Group", "owner": None, "attributes": attributes}
            )
        return found

    def _field(self, log: _Log, name: str) -> str:
        if name in log.raw:
            return _place_of(log.entry.number, name)
        return str(getattr(log.entry, name))

    def _send(self, document: Any) -> StubAnswer:
        raw = {
            _place_of(number, name): data
            for number, log in self._logs.items()
            for name, data in log.raw.items()
        }
        return StubAnswer(written_with_bytes(document, raw))


make_stub = OlogStub


def _when(text: str | None, zone: ZoneInfo, now: datetime) -> datetime | None:
    """Read a time as the service does: what it does not know is a duration of none."""
    if text is None:
        return None
    for pattern in _FORMATS:
        try:
            read = datetime.strptime(text, pattern)  # noqa: DTZ007 - zoned below
        except ValueError:
            continue
        return read.replace(tzinfo=zone)
    return now


def _place_of(number: int, name: str) -> str:
    return f"@bytes-{number}-{name}@"


def _epoch_ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _status(status: int) -> StubAnswer:
    return StubAnswer(b'{"error":"refused"}', status)
