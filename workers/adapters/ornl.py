"""ORNL, as its records are known: the generic reader with one mapping."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, ClassVar

from shared.adapter_contract.conditional_fetch import Answered, if_changed
from shared.adapter_contract.contract import (
    AdapterDescriptor,
    FileStat,
    RawItem,
    Recognition,
    Source,
    SourceIO,
)
from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError
from workers.adapters.files import json_records
from workers.adapters.files.file_progress import Files
from workers.adapters.files.first_record import recognise_by_keys
from workers.adapters.files.generic_json import GenericJSON, JSONArgs
from workers.adapters.files.mapped_files import CAPABILITIES
from workers.adapters.mapping.map_settings import Selector

_ID, _HAS_FILE = "ID", "attachment"
_KEYS = frozenset(("ID", "entry_time", "content"))


class Ornl(GenericJSON):
    """The records of an ORNL logbook, from a file or from an address."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="ornl",
        title="ORNL logbook",
        version=1,
        args=JSONArgs,
        capabilities=replace(CAPABILITIES, replies="none"),
        min_overlap_seconds=0,
        max_records_per_page=5000,
        aliases=("ornl_logbook",),
        place="either",
    )
    fields: ClassVar[Mapping[str, Selector]] = {
        "external_id": _ID,
        "entry_time": "entry_time",
        "event_time": "event_time",
        "authors": "author",
        "title": "title",
        "text": "content",
        "logbooks": "logbook",
        "related": "reference",
        "tags": "tags",
        "attachments": ("attachments", "attachment_header"),
        "metadata": "metadata",
        "metadata.segment_area": "segment/area",
    }
    # A header names a file, and does not say where it lies.
    attachment_base: ClassVar[str | None] = ""

    def __init__(self, source: Source, io: SourceIO) -> None:
        super().__init__(source, io)
        self._url = source.base_url

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry; one whose files have no address says so."""
        entry = super().parse(raw)
        has_file = entry.metadata.pop(_HAS_FILE, "").strip().upper() == "Y"
        if has_file and all(file.url is None for file in entry.attachments):
            return replace(entry, flags=(*entry.flags, "truncated_by_source"))
        return entry

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a path by the keys of its first record."""
        return recognise_by_keys(url, io, _KEYS, "records of ORNL")

    def _identify(self, payload: Any) -> str | None:
        """Return its `ID`, which some records write small."""
        if type(payload) is not dict:
            payload, _ = json_records.value_of(payload, None)
        if isinstance(payload, dict) and _ID not in payload:
            payload = {**payload, _ID: payload.get(_ID.lower())}
        return super()._identify(payload)

    def _files(self) -> Files | None:
        if not self._url:
            return super()._files()
        return _FetchedFile(self._io, self._url, self._source.read_by)


class _FetchedFile:
    """A file that lies at an address; its content tells whether it has changed."""

    def __init__(self, source_io: SourceIO, url: str, read_by: str | None) -> None:
        self._io = source_io
        self._url = url
        self._read_by = read_by
        self._body = b""
        self._answered: Answered | None = None

    def names(self) -> list[str]:
        """Return the address."""
        return [self._url]

    def stat(self, name: str, known: Mapping[str, str]) -> FileStat | None:
        """Fetch the file, unless its server says that it is still the one `known`."""
        before = Answered.read(known)
        reply = if_changed(self._io.http, name, before, self._read_by)
        if reply is None:
            return None
        if not reply.body.strip():
            message = "The address answers with nothing, which is no list of records."
            raise IngestionError(message, reason="unexpected_shape")
        self._body = reply.body
        self._answered = Answered.of(reply, name, self._read_by)
        digest = hashlib.sha256(reply.body).digest()
        return FileStat(len(reply.body), 0, int.from_bytes(digest[:6]))

    @property
    def answer(self) -> dict[str, str]:
        """Return by what its server knows the last answer again."""
        return self._answered.kept() if self._answered else {}

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:  # noqa: ARG002 - there is but one
        """Open the fetched file for reading."""
        yield io.BytesIO(self._body)
