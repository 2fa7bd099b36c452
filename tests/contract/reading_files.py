"""An adapter over a stub, with the real world of a source and a memory that lasts."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from shared.sources.adapter_io import make_io
from shared.sources.adapter_memory import StoredMemory
from shared.sources.load_adapter import Opened


class Poller:
    """Polls one source as the runtime does: each page commits cursor and memory."""

    def __init__(self, settings: Mapping[str, Any], **more: Any) -> None:
        self.given = {"rate_per_second": 1000, "retry_delay_seconds": 0.01, **settings}
        self.given.update(more)
        self.memory: dict[str, Any] = {}
        self.cursor: Mapping[str, Any] | None = None
        self.clock: datetime | None = None
        self.max_entry_bytes = 1_000_000
        self.entries: dict[str, Entry] = {}
        self.refused: dict[str, MalformedEntryError] = {}

    def open(self) -> Opened:
        settings = SourceSettings.model_validate(self.given)
        clock = self.clock
        self.store = StoredMemory(lambda _: dict(sorted(self.memory.items())))
        self.io = make_io(
            "polled",
            settings,
            memory=self.store,
            clock=(lambda: clock) if clock else None,
        )
        return load_adapter.open_source(
            "polled", settings, self.io, max_entry_bytes=self.max_entry_bytes
        )

    def poll(self, *, pages: int | None = None, **asked: Any) -> list[RawItem]:
        """Return the items of the next run, or of its first pages."""
        opened = self.open()
        adapter = opened.adapter
        found: list[RawItem] = []
        with self.io:
            for number, page in enumerate(adapter.pages(self.cursor, **asked), 1):
                refused = self._parse(adapter, page.items)
                opened.limit.note(self.store, refused)
                self.memory.update(self.store.take_changes())
                self.cursor = page.cursor
                found += page.items
                if number == pages:
                    break
        return found

    def ids(self, **asked: Any) -> list[str]:
        """Return the ids that the next run brings."""
        return [item.external_id for item in self.poll(**asked)]

    def _parse(
        self, adapter: Any, items: Iterable[RawItem]
    ) -> list[MalformedEntryError]:
        refused = []
        for item in items:
            try:
                self.entries[item.external_id] = adapter.parse(item)
            except MalformedEntryError as exc:
                self.refused[item.external_id] = exc
                refused.append(exc)
        return refused
