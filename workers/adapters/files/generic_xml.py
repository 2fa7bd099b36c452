"""XML files of any facility, and two generations of log entries by default."""

from collections.abc import Mapping
from typing import Any, ClassVar

from shared.adapter_contract.contract import (
    AdapterDescriptor,
    RawItem,
    Recognition,
    Source,
    SourceIO,
)
from shared.adapter_contract.entry import Entry
from workers.adapters.files.first_record import first_record, list_fields
from workers.adapters.files.mapped_files import FileArgs, MappedFiles, describe
from workers.adapters.files.xml_records import XMLForm
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import malformed
from workers.adapters.mapping.map_settings import Selector

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


class XMLArgs(FileArgs):
    """How the records of an XML file are found and read."""

    item: str | None = None
    """Name of a record's element; none: all below the root."""

    def own_id(self) -> Selector:
        """Return the element that holds the id, in formats that have one."""
        return _NUMBERED["external_id"]


class GenericXML(MappedFiles):
    """Files of XML records; attributes are mapped as `element@attribute`."""

    descriptor: ClassVar[AdapterDescriptor] = describe(
        "generic_xml", "XML files", XMLArgs
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        args = source.args if isinstance(source.args, XMLArgs) else XMLArgs()
        numbered = FieldMap.of(source, args, _NUMBERED)
        super().__init__(source, io, args, XMLForm(args.item), numbered)
        self._elder = FieldMap.of(source, args, _ELDER)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of an element."""
        record: Any = raw.payload
        if not isinstance(record, dict):
            malformed("wrong_type", f"A {type(record).__name__} is no record.")
        if _FILES in record:
            record = {**record, _FILES: _addressed(record[_FILES])}
        flags = () if raw.charset is None else ("charset_guess",)
        field_map = self._map if "created" in record else self._elder
        return field_map.entry(record, raw.external_id, flags=flags)

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
