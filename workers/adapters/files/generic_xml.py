"""XML files of any facility, and two generations of log entries by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from shared.adapter_contract.contract import (
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    RawItem,
    Recognition,
    Source,
    SourceIO,
    Window,
)
from shared.adapter_contract.entry import Entry
from shared.adapter_contract.mapped_record import MappedRecord
from workers.adapters.files.file_progress import PathFiles
from workers.adapters.files.first_record import first_record, list_fields
from workers.adapters.files.walk import FileWalk
from workers.adapters.files.xml_records import XMLForm
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import malformed
from workers.adapters.mapping.map_settings import MapArgs, Selector

# `<Logentry>`, which has a number and a time with its zone.
_NUMBERED: Mapping[str, Selector] = {
    "external_id": "lognumber",
    "title": "title",
    "text": "body",
    "text_format": "body@type",
    "entry_time": "created",
    "authors": "/Author/username",
    "logbooks": "/Logbooks/logbook",
    "tags": "/Tags/tag",
    "attachments": "/Attachments/Attachment",
}
# `<log_entry>`, its elder.
_ELDER: Mapping[str, Selector] = {
    "title": "title",
    "text": "text",
    "entry_time": "timestamp",
    "authors": "log_user",
    "logbooks": "logbook",
    "level": "priority",
}
_FILES = "Attachments"


class XMLArgs(MapArgs):
    """How the records of an XML file are found and read."""

    item: str | None = Field(
        None, description="Name of a record's element; none: all below the root."
    )
    complete_snapshot: bool = Field(
        default=False, description="The files hold everything: what is absent is gone."
    )

    def own_id(self) -> Selector:
        """Return the element that holds the id, in formats that have one."""
        return _NUMBERED["external_id"]


class GenericXML:
    """Files of XML records; attributes are mapped as `element@attribute`."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="generic_xml",
        title="XML files",
        version=1,
        args=XMLArgs,
        capabilities=AdapterCapabilities(
            order="created_asc",
            edits="rescan",
            deletes="invisible",
            replies="parent",
            attachments="by_url",
        ),
        min_overlap_seconds=0,
        max_records_per_page=5000,
        place="path",
        reads_ahead=True,
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        args = source.args if isinstance(source.args, XMLArgs) else XMLArgs()
        self._source = source
        self._io = io
        self._args = args
        self._numbered = FieldMap.of(source, args, _NUMBERED)
        self._elder = FieldMap.of(source, args, _ELDER)

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities; deletions show only if the files hold everything."""
        known = self.descriptor.capabilities
        is_whole = self._args.complete_snapshot
        return replace(known, deletes="rescan") if is_whole else known

    def pages(
        self,
        since: Cursor | None,
        window: Window | None = None,  # noqa: ARG002 - files cannot be asked by time
    ) -> Iterator[AdapterPage]:
        """Yield what is new in the files; without a cursor, everything."""
        walk = FileWalk(
            self._io,
            PathFiles(self._io),
            XMLForm(self._args.item),
            lambda record: self._map_of(record).external_id(record),
            page_size=self._source.page_size,
            read_by=self._source.read_by,
        )
        yield from walk.pages(since)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of an element."""
        record: Any = raw.payload
        if not isinstance(record, dict):
            malformed("wrong_type", f"A {type(record).__name__} is no record.")
        if _FILES in record:
            record = {**record, _FILES: _addressed(record[_FILES])}
        flags = () if raw.charset is None else ("charset_guess",)
        return self._map_of(record).entry(record, raw.external_id, flags=flags)

    def look_up(self, raw: RawItem) -> MappedRecord:
        """Return the elements of a record, and those that it lacks of the settings."""
        return self._map_of(raw.payload).look_up(raw.payload, self._args)

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a path by its first element; other names need a map."""
        found = first_record(url, io, XMLForm())
        if found is None:
            return None
        fits = {"created", "timestamp"} & found[1].keys()
        return Recognition(
            settings={"path": url},
            confidence=0.7,
            why=f"{found[0]} holds XML records of {list_fields(found[1])}",
            asks=("timezone",) if fits else ("args.map", "timezone"),
        )

    def _map_of(self, record: Any) -> FieldMap:
        is_numbered = isinstance(record, dict) and "created" in record
        return self._numbered if is_numbered else self._elder


def _addressed(holder: Any) -> Any:
    """Return the attachments with their addresses; inlined ones have none."""
    files = holder.get("Attachment") if isinstance(holder, dict) else None
    several = files if isinstance(files, list) else [files]
    found = []
    for each in several:
        if not isinstance(each, dict):
            continue
        told = {key: text for key, text in each.items() if not key.startswith("data")}
        if each.get("data@encoding") == "url":
            told["url"] = each.get("data")
        found.append(told)
    return {"Attachment": found} if found else None
