"""The logbook of Acme: a list of changes, oldest first, deletions included."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field

from shared.adapter_contract.contract import (
    AdapterArgs,
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    RawItem,
    Source,
    SourceIO,
    Window,
)
from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError, MalformedEntryError
from shared.times import source_times

_FORMAT = 1


class AcmeArgs(AdapterArgs):
    """What only Acme's logbook needs."""

    section: str = Field("all", description="Which section of the logbook to read.")


class Acme:
    """Reads `GET /changes?since=&after=&limit=`."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="acme",
        title="Logbook of Acme Light Source",
        version=1,
        capabilities=AdapterCapabilities(
            order="modified_asc",
            edits="cursor",
            deletes="flagged",
            replies="parent",
            attachments="none",
        ),
        args=AcmeArgs,
        max_records_per_page=200,
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield what has changed since the cursor, less the overlap."""
        del window  # The source is asked by the time of change alone.
        overlap = timedelta(seconds=self._source.overlap_seconds)
        # Whatever the entries claim: what is written while we read comes again.
        latest = self._io.now() - overlap
        at = _place(since)
        start = at - overlap if at else None
        after = ""
        while True:
            records = self._ask(start, after)
            if records:
                start, after = _changed(records[-1], start), _id(records[-1])
            if start is not None:
                at = min(start, latest)
            cursor = {"v": _FORMAT, "at": at.isoformat() if at else None}
            yield AdapterPage(tuple(_item(one) for one in records), cursor)
            if len(records) < self._source.page_size:
                return

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of one record."""
        record = raw.payload
        if not isinstance(record, dict):
            raise MalformedEntryError("It is no object.", reason="unexpected_shape")
        if record.get("deleted") is True:
            return Entry(raw.external_id, None, deleted=True)
        written = source_times.parse_source_time(
            record.get("written"), zone=self._source.timezone
        )
        changed = source_times.parse_source_time(
            record.get("changed"), zone=self._source.timezone
        )
        return Entry(
            raw.external_id,
            written.at,
            title=_text(record, "title"),
            text=_text(record, "body"),
            modified_at=changed.at,
            authors=_texts(record.get("author")),
            logbooks=_texts(record.get("section")),
            tags=_texts(record.get("tags")),
            reply_to=_text(record, "reply_to") or None,
            metadata=_object(record.get("fields")),
            flags=written.flags,
        )

    def _ask(self, since: datetime | None, after: str) -> list[Any]:
        params = {
            "since": since.isoformat() if since else "",
            "after": after,
            "limit": str(self._source.page_size),
            "section": self._source.args.section,
        }
        answer = self._io.http.get(f"{self._source.base_url}/changes", params=params)
        found = answer.json()
        records = found.get("changes") if isinstance(found, dict) else None
        if not isinstance(records, list):
            message = "The source sends no list of changes."
            raise IngestionError(message, reason="unexpected_shape")
        return records


def _place(since: Cursor | None) -> datetime | None:
    """Return the time that a cursor names; one that is not ours names none."""
    at = since.get("at") if since and since.get("v") == _FORMAT else None
    if not isinstance(at, str):
        return None
    try:
        return datetime.fromisoformat(at).astimezone(UTC)
    except ValueError:
        return None


def _item(record: Any) -> RawItem:
    return RawItem(_id(record), record)


def _id(record: Any) -> str:
    return str(record.get("id")) if isinstance(record, dict) else "no-id"


def _changed(record: Any, before: datetime | None) -> datetime | None:
    try:
        return source_times.parse_source_time(record["changed"], zone=None).at
    except (TypeError, KeyError, MalformedEntryError):
        return before


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise MalformedEntryError(f"{name} is no text.", reason="unexpected_shape")
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    several = value if isinstance(value, list) else [value]
    return tuple(one for one in several if isinstance(one, str) and one)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
