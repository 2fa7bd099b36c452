"""A stub and the adapter over it, without a store: what arrives, and how it reads."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from shared.adapter_contract.contract import RawItem
from shared.entries.draft import EntryDraft
from shared.errors import MalformedEntryError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from shared.sources.adapter_io import make_io
from shared.sources.intake.normalise import PullRules
from shared.sources.load_adapter import Opened
from shared.text import plain_text
from workers.adapters.kit.stub import Stub, StubEntry
from workers.adapters.kit.subject import Subject

NAME = "examined"
# In the middle of a quiet week, before everything that the kit scripts on purpose.
START = datetime(2024, 6, 10, 4, 0, tzinfo=UTC)
MAX_PAGES = 5000
# A stub on this machine needs no manners, and nobody wants to wait for it.
QUICK: Mapping[str, Any] = {
    "rate_per_second": 100_000,
    "concurrency": 2,
    "max_retries": 1,
    "retry_delay_seconds": 0.01,
    "request_timeout_seconds": 5,
    "timezone": "Europe/Berlin",
}


class KitReading:
    """One adapter over one stub, made anew for each test."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.stub: Stub = subject.make_stub()
        # Limits of entries are the installation's own.
        self.limits = Settings()
        self._numbers = count(1)
        self._reader: Opened | None = None
        self._ends = ExitStack()
        self._ends.callback(self.stub.close)

    def number(self) -> int:
        """Return a number that no entry has yet."""
        return next(self._numbers)

    def close(self) -> None:
        """Stop the stub, and hang up."""
        self._ends.close()

    def settings(self, **changes: Any) -> SourceSettings:
        """Return the source's settings as they are now: the stub's over quick ones."""
        given = {"adapter": self.subject.adapter, **QUICK, **self.stub.settings()}
        return SourceSettings.model_validate({**given, **changes})

    @property
    def zone(self) -> ZoneInfo:
        """What zone the source's naive times mean."""
        return ZoneInfo(self.settings().timezone or "UTC")

    def open(self, **changes: Any) -> Opened:
        """Return the source, ready to be asked, with a memory of its own."""
        settings = self.settings(**changes)
        io = self._ends.enter_context(make_io(NAME, settings))
        most = self.limits.max_entry_bytes
        return load_adapter.open_source(NAME, settings, io, max_entry_bytes=most)

    def items(self, **changes: Any) -> dict[str, RawItem]:
        """Return everything that a walk from the beginning brings, by id."""
        found: dict[str, RawItem] = {}
        for number, page in enumerate(self.open(**changes).adapter.pages(None)):
            assert number < MAX_PAGES, f"{MAX_PAGES} pages, and no end"
            found.update({item.external_id: item for item in page.items})
        return found

    def item(self, external_id: str) -> RawItem:
        """Return the one item of an entry."""
        found = self.items()
        assert external_id in found, f"{external_id} is not among {sorted(found)}"
        return found[external_id]

    def read(self, item: RawItem) -> EntryDraft:
        """Return the draft that an item would be stored as, or raise."""
        opened = self._reader = self._reader or self.open()
        entry = opened.adapter.parse(item)
        rules = PullRules(self.limits, NAME, opened.settings, opened.descriptor.version)
        return rules.draft(entry, item, now=datetime.now(UTC))

    def read_added(self, entry: StubEntry) -> EntryDraft:
        """Add an entry, and return what would be stored of it."""
        return self.read(self.item(self.stub.add(entry)))

    def refused(self, item: RawItem) -> MalformedEntryError | None:
        """Return why an item is quarantined, or None where it is not."""
        try:
            self.read(item)
        except MalformedEntryError as exc:
            return exc
        return None


@contextmanager
def reading(subject: Subject) -> Iterator[KitReading]:
    """Return a reading whose stub is closed behind it."""
    one = KitReading(subject)
    try:
        yield one
    finally:
        one.close()


def says(draft: EntryDraft, text: str) -> bool:
    """Tell whether a draft's text is this one, as received or without its markup."""
    plain = plain_text.to_plain(draft.text, draft.text_format)
    return text.strip() in {draft.text.strip(), plain.strip()}


def summer_time_nights(zone: ZoneInfo) -> list[datetime]:
    """Return the instants at which the clocks of a zone change, in their order."""
    hours = (
        datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(366 * 24)
    )
    found = []
    before = None
    for hour in hours:
        offset = hour.astimezone(zone).utcoffset()
        if before is not None and offset != before:
            found.append(hour)
        before = offset
    return found
