"""What the adapters of files share: capabilities, settings and the walk."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from shared.adapter_contract.contract import (
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    RawItem,
    Source,
    SourceIO,
    Window,
)
from shared.adapter_contract.mapped_record import MappedRecord
from workers.adapters.files.file_progress import Files
from workers.adapters.files.walk import FileWalk, Format
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.map_settings import MapArgs

CAPABILITIES = AdapterCapabilities(
    order="created_asc",
    edits="rescan",
    deletes="invisible",
    replies="parent",
    attachments="by_url",
)


class FileArgs(MapArgs):
    """How records are read, and whether their files hold everything."""

    complete_snapshot: bool = False
    """The files hold everything: what is absent is gone."""


def describe(name: str, title: str, args: type[FileArgs]) -> AdapterDescriptor:
    """Return the descriptor of a format of files."""
    return AdapterDescriptor(
        name=name,
        title=title,
        version=1,
        args=args,
        capabilities=CAPABILITIES,
        min_overlap_seconds=0,
        max_records_per_page=5000,
        place="path",
        reads_ahead=True,
    )


class MappedFiles:
    """Files of records, each an entry by a map of its fields."""

    descriptor: ClassVar[AdapterDescriptor]

    def __init__(
        self,
        source: Source,
        io: SourceIO,
        settings: FileArgs,
        form: Format,
        fields: FieldMap,
    ) -> None:
        self._source = source
        self._io = io
        self._settings = settings
        self._form = form
        self._map = fields

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities; deletions show only if the files hold everything."""
        known = self.descriptor.capabilities
        is_whole = self._settings.complete_snapshot
        return replace(known, deletes="rescan") if is_whole else known

    def pages(
        self,
        since: Cursor | None,
        window: Window | None = None,  # noqa: ARG002 - files cannot be asked by time
    ) -> Iterator[AdapterPage]:
        """Yield what is new in the files; without a cursor, everything."""
        walk = FileWalk(
            self._source, self._io, self._form, self._identify, self._files()
        )
        yield from walk.pages(since)

    def look_up(self, raw: RawItem) -> MappedRecord:
        """Return the fields of a record, and those that it lacks of the settings."""
        record = self._record(raw)
        return self._map_of(record).look_up(record, self._settings)

    def _record(self, raw: RawItem) -> Any:
        return raw.payload

    def _map_of(self, record: Any) -> FieldMap:  # noqa: ARG002 - one serves all here
        return self._map

    def _identify(self, payload: Any) -> str | None:
        return self._map_of(payload).external_id(payload)

    def _files(self) -> Files | None:
        return None
