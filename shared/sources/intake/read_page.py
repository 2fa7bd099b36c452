"""What a source sent, made ready to be stored: all that needs no transaction."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

from shared.adapter_contract.contract import AdapterPage, RawItem
from shared.adapter_contract.entry import Entry
from shared.entries.draft import EntryDraft
from shared.errors import MalformedEntryError
from shared.postgres.pool import Pool, connection
from shared.sources.adapter_memory import StoredMemory
from shared.sources.intake.metadata_sidecar import Beside
from shared.sources.intake.normalise import PullRules
from shared.sources.intake.quarantined_items import Rejected
from shared.sources.intake.skip_unchanged import Sieve
from shared.sources.load_adapter import Opened

T = TypeVar("T")
NOBODY: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True)
class News:
    """The parsed items of a page: drafts, tombstones, and unreadable items."""

    drafts: list[EntryDraft]
    gone: list[str]
    bad: list[Rejected]
    # How many have files for which there was no time.
    left: int


@dataclass(frozen=True, slots=True)
class Read:
    """The items of a page, with everything to store of them."""

    items: Sequence[RawItem]
    news: News
    unchanged: int
    bytes: int
    # What the adapter has put until now: it is kept in the commit of these items.
    remembered: Mapping[str, Any]
    # More came than the run may take.
    is_cut_short: bool = False


@dataclass(frozen=True, slots=True)
class PageReader:
    """Parses and admits what is news; used by one thread at a time."""

    opened: Opened
    rules: PullRules
    pool: Pool
    memory: StoredMemory
    sieve: Sieve
    # None: nothing beside an entry is looked at.
    beside: Beside | None
    # Nothing is to be stored.
    is_dry: bool = False

    def pages(
        self, found: Iterator[AdapterPage]
    ) -> Generator[tuple[AdapterPage, Read], None, None]:
        """Read page after page, each perhaps before the one before it is stored."""
        under_way = NOBODY
        for page in found:
            yield page, self.read(page.items, under_way)
            under_way = {item.external_id for item in page.items}

    def read(
        self,
        items: Sequence[RawItem],
        under_way: AbstractSet[str] = NOBODY,
        *,
        is_cut_short: bool = False,
    ) -> Read:
        """Parse the changed items and return what is to be stored.

        Items whose ids are `under_way` are being stored just now and count as unknown.
        """
        with connection(self.pool) as conn:
            sifted = self.sieve.sift(conn, items, under_way)
        news = self._parsed(sifted.news)
        self.opened.limit.note(self.memory, (one.error for one in news.bad))
        if is_cut_short or news.left or self.is_dry:
            # What the adapter remembers of it would hide its rest from the next run.
            self.memory.discard_changes()
        return Read(
            items,
            news,
            sifted.unchanged,
            sifted.bytes,
            self.memory.take_changes(),
            is_cut_short,
        )

    def _parsed(self, items: Sequence[RawItem]) -> News:
        """Parse items and fetch their sidecars in time; a dry run fetches none."""
        drafts: list[EntryDraft] = []
        gone: list[str] = []
        bad: list[Rejected] = []
        read: list[tuple[RawItem, Entry]] = []
        now = self.opened.io.now()
        for item in items:
            try:
                entry = self.opened.adapter.parse(item)
            except MalformedEntryError as exc:
                # What its author has not finished is read once it is.
                if exc.reason != "pending":
                    bad.append(Rejected(item, exc))
                continue
            if entry.deleted:
                gone.append(item.external_id)
            else:
                read.append((item, entry))
        merged = read
        if self.beside is not None and not self.is_dry:
            merged = self.beside.merge(read)
        for item, entry in merged:
            try:
                draft = self.rules.draft(entry, item, now=now)
            except MalformedEntryError as exc:
                bad.append(Rejected(item, exc))
                continue
            drafts.append(draft if self.is_dry else draft.prepare())
        return News(drafts, gone, bad, len(read) - len(merged))


def one_ahead(
    items: Generator[T, None, None], is_last: Callable[[T], bool]
) -> Generator[T, None, None]:
    """Yield what a generator yields; a thread asks for the next one meanwhile.

    That thread alone begins, asks and closes the generator. What it raises comes when
    the item would have come; behind the last one nothing is asked for.
    """
    # What it logs belongs to the same run.
    context = copy_context()

    def ask() -> T | None:
        return next(items, None)

    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        try:
            coming = thread.submit(context.run, ask)
            while (item := coming.result()) is not None:
                if is_last(item):
                    yield item
                    return
                coming = thread.submit(context.run, ask)
                yield item
        finally:
            # Behind the item that it may be at just now.
            thread.submit(context.run, items.close).result()
