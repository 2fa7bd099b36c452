"""JSON and JSONL files of any facility, by a field map; the peer's keys by default."""

from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from shared import entry_fields
from shared.adapter_contract.contract import (
    AdapterDescriptor,
    RawItem,
    Recognition,
    Source,
    SourceIO,
)
from shared.adapter_contract.entry import Entry
from shared.times import source_times
from workers.adapters.files import json_records
from workers.adapters.files.first_record import first_record, list_fields
from workers.adapters.files.json_records import JSONForm, Shape
from workers.adapters.files.mapped_files import FileArgs, MappedFiles, describe
from workers.adapters.files.utf8_text import most_line_bytes
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import malformed
from workers.adapters.mapping.map_settings import Selector

_OWN_KEYS = (
    *("version", "event_time", "modified_at", "editor", "title", "text"),
    *(*entry_fields.NAMES, "kind", "readers", "visible_from", "origin", "language"),
    *("supersedes", "related", "thread_key", "attachments", "metadata", "url"),
    "deleted",
)
FIELDS: Mapping[str, Selector] = {
    **{name: name for name in _OWN_KEYS},
    "external_id": "id",
    "entry_time": "timestamp",
    "authors": "author",
    "tags": ("tags", "categories"),
    "logbooks": "books",
    "reply_to": "linked_to",
    "text_format": "body_format",
}
_DEMO = "when"


class JSONArgs(FileArgs):
    """How the records of a JSON file are found and read."""

    format: Shape = "auto"
    """Whether a file is `lines` or one `document`."""
    items: str = "entries"
    """Key of the list of records, where a file is an object."""

    def own_id(self) -> Selector:
        """Return the key that holds the id."""
        return FIELDS["external_id"]


class GenericJSON(MappedFiles):
    """Files of JSON records: lists, objects that hold one, or one record a line."""

    descriptor: ClassVar[AdapterDescriptor] = describe(
        "generic_json", "JSON and JSONL files", JSONArgs
    )
    fields: ClassVar[Mapping[str, Selector]] = FIELDS
    # What a file that is named without an address lies under; None: the source's own.
    attachment_base: ClassVar[str | None] = None

    def __init__(self, source: Source, io: SourceIO) -> None:
        args = source.args if isinstance(source.args, JSONArgs) else JSONArgs()
        args = args.model_copy(update={"ignore": (*args.ignore, _DEMO)})
        self._most_line = most_line_bytes(source.max_entry_bytes)
        form = JSONForm(shape=args.format, items=args.items, most_line=self._most_line)
        base = self.attachment_base
        fields = FieldMap.of(source, args, self.fields, attachment_base=base)
        super().__init__(source, io, args, form, fields)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of a record."""
        record, flags = json_records.record_of(raw, self._most_line)
        written = self._demo_time(record[_DEMO], raw) if _DEMO in record else None
        return self._map.entry(record, raw.external_id, flags=flags, written=written)

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a path by its first record; other keys need a map."""
        found = first_record(url, io, JSONForm())
        if found is None or not isinstance(found[1], dict):
            return None
        fits = "id" in found[1] and ({"timestamp", _DEMO} & found[1].keys())
        return Recognition(
            settings={"path": url},
            confidence=0.7,
            why=f"{found[0]} holds JSON records of {list_fields(found[1])}",
            asks=() if fits else ("args.map",),
        )

    def _identify(self, payload: Any) -> str | None:
        if type(payload) is not dict:
            payload, _ = json_records.value_of(payload, None)
        return super()._identify(payload)

    def _record(self, raw: RawItem) -> dict[str, Any]:
        return json_records.record_of(raw, self._most_line)[0]

    def _demo_time(self, when: Any, raw: RawItem) -> source_times.Moment:
        """Return the time of a demonstration, told in days before it is read."""
        days = when.get("days_ago") if isinstance(when, dict) else None
        if type(days) is not int or days < 0 or raw.fetched_at is None:
            malformed("time_unreadable", "`days_ago` is a count of days.")
        zone = self._source.timezone
        read_on = raw.fetched_at.astimezone(ZoneInfo(zone) if zone else UTC).date()
        try:
            day = read_on - timedelta(days=days)
        except OverflowError:
            malformed("time_out_of_range", "So many days ago there was no calendar.")
        clock = when.get("time", "00:00:00")
        if not isinstance(clock, str):
            malformed("time_unreadable", "The `time` is written as HH:MM:SS.")
        return source_times.parse_source_time(
            f"{day.isoformat()} {clock}", zone=zone or "UTC", fold=self._source.tz_fold
        )
