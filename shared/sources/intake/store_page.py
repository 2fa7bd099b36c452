"""What a source sent becomes entries: a page in one commit, with its cursor last."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from shared.adapter_contract.contract import (
    MAX_CURSOR_BYTES,
    AdapterPage,
    Gap,
    IdStamp,
    RawItem,
)
from shared.entries import entry_links
from shared.entries.saving.entry_batch import Saved
from shared.entries.saving.save import save_page, tombstone_many
from shared.entries.tombstones import SAID_BY_SOURCE
from shared.errors import IngestionError, SourceUnreachableError
from shared.postgres.pool import Pool, connection
from shared.sources import adapter_memory, listed_ids, run_records, source_state
from shared.sources.adapter_memory import StoredMemory
from shared.sources.intake import quarantined_items
from shared.sources.intake.normalise import PullRules
from shared.sources.intake.read_page import News, PageReader, Read, one_ahead
from shared.sources.load_adapter import Opened
from shared.sources.run_records import Counts, IngestionRun
from shared.work import due_work as due
from shared.work import schedule

Nudge = Callable[[str, Sequence[UUID]], None]
Note = Callable[[str, Counts], None]
Steps = Generator[Counts, None, None]
# Those beside the one who reads ahead that take a connection of the pool at a time.
_ALSO_AT_WORK = 2


class LeaseLostError(IngestionError):
    """Another process goes on with this run; what was not committed is read again."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages that are due for new and edited entries, and for deleted ones."""

    of_entries: tuple[str, ...]
    of_deleted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _StoredPage:
    """The outcomes of a stored page."""

    saved: Sequence[Saved] = ()
    deleted: Sequence[UUID] = ()
    quarantined: int = 0
    # What other settings have read otherwise, which is bulk work.
    anew: AbstractSet[str] = frozenset()

    @property
    def changed(self) -> list[UUID]:
        """Return the entries that are new or edited at their source."""
        told = {"created", "updated"}
        return [
            one.entry_id
            for one in self.saved
            if one.status in told and one.external_id not in self.anew
        ]


_NOTHING = _StoredPage()


@dataclass(slots=True)
class Intake:
    """One run of one source: everything that its steps need, and how far they are."""

    opened: Opened
    reader: PageReader
    pool: Pool
    stages: Stages
    nudge: Nudge
    note: Note
    lease: schedule.Run
    run: IngestionRun
    # The runtime's own place, beside or around the adapter's.
    cursor: dict[str, Any] | None
    work_class: int = due.LIVE
    seen: int = 0
    is_cut: bool = False
    # The adapter has said that nothing follows.
    is_through: bool = False

    @property
    def tenant(self) -> str:
        """Return the tenant of the entries."""
        return self.opened.tenant

    @property
    def name(self) -> str:
        """The source's name."""
        return self.opened.name

    @property
    def rules(self) -> PullRules:
        """Return the rules for entries of the source."""
        return self.reader.rules

    @property
    def memory(self) -> StoredMemory:
        """Return the memory of the source's adapter."""
        return self.reader.memory

    def pages(
        self, found: Iterator[AdapterPage]
    ) -> Generator[tuple[AdapterPage, Read], None, None]:
        """Read page after page, one ahead of the stored one where that is free."""
        if self.opened.descriptor.reads_ahead and self._can_read_ahead:
            return one_ahead(self.reader.pages(found), lambda pair: pair[0].is_last)
        return ((page, self.read(page.items)) for page in found)

    def walk(
        self,
        found: Iterator[AdapterPage],
        place: Callable[[AdapterPage], Mapping[str, Any]],
        *,
        listed_by: UUID | None = None,
        again: bool = False,
    ) -> Steps:
        """Store page after page, each with its place, to the last or the cut."""
        with closing(self.pages(found)) as pages:
            for page, read in pages:
                counts = self.store(
                    read, place(page), page=page, listed_by=listed_by, again=again
                )
                if self.is_cut or self.is_through:
                    return
                yield counts

    @property
    def _can_read_ahead(self) -> bool:
        # Who reads ahead, who stores and who renews the lease take a connection each.
        return self.run.limit is None and self.pool.max_size > _ALSO_AT_WORK

    def read(self, items: Sequence[RawItem]) -> Read:
        """Read items, no more of them than the run's limit."""
        limit = self.run.limit
        if limit is None or self.seen + len(items) < limit:
            return self.reader.read(items)
        self.is_cut = True
        room = limit - self.seen
        return self.reader.read(items[:room], is_cut_short=room < len(items))

    def store(
        self,
        read: Read,
        cursor: Mapping[str, Any] | None,
        *,
        page: AdapterPage | None = None,
        listed_by: UUID | None = None,
        again: bool = False,
    ) -> Counts:
        """Commit what was read, and the cursor; then nudge.

        A run that has reached its limit keeps the cursor of the page before. What it
        reads `again` counts only where it has changed meanwhile. A page with more files
        than there is time for is stored in parts: the rest is read with the next turn.
        A dry run only counts.
        """
        items, news = read.items, read.news
        if news.left:
            page = cursor = None
        elif read.is_cut_short:
            cursor = self.cursor
        with connection(self.pool) as conn:
            written = _NOTHING if self.run.is_dry else self._write(conn, news)
            if listed_by is not None:
                listed = [IdStamp(item.external_id, item.stamp) for item in items]
                listed_ids.add(conn, listed_by, listed)
            seen = len(items) - news.left
            counts = Counts(seen, read.bytes, unchanged=read.unchanged)
            if self.run.is_dry:
                counts += Counts(deleted=len(news.gone), rejected=len(news.bad))
            else:
                saved, deleted = written.saved, len(written.deleted)
                counts += counted(saved, deleted, len(news.bad), written.quarantined)
            if again:
                counts = replace(counts, seen=0, unchanged=0, rejected=0, quarantined=0)
            expected = page.total if page is not None else None
            run_records.count(conn, self.run, counts, expected=expected)
            if page is not None:
                self.note_gaps(conn, page.gaps)
                if page.complete_to is not None:
                    self.note_complete(conn, end=page.complete_to)
            self.keep(conn, cursor, read.remembered)
        self._nudge(written.changed, written.deleted)
        if not self.run.is_dry:
            self.note(self.name, counts)
        self.seen += seen
        if news.left:
            message = f"{news.left} entries of this page are read with the next turn."
            raise SourceUnreachableError(message, reason="out_of_time")
        self.is_through = page is not None and page.is_last
        return counts

    def _write(self, conn: Connection, news: News) -> _StoredPage:
        if news.gone:
            # Before any entry is locked, or two pages could wait for each other.
            entry_links.lock(conn, self.tenant, self.name)
        saved = save_page(
            conn,
            self.tenant,
            news.drafts,
            stages=self.stages.of_entries,
            editor=f"source:{self.name}",
            work_class=self.work_class,
            fetch_attachments=self.opened.settings.attachments == "fetch",
        )
        deleted = self._tombstone(conn, news.gone, SAID_BY_SOURCE)
        quarantined = quarantined_items.store_rejected(
            conn, self.tenant, self.name, news.bad
        )
        mended = [draft.external_id for draft in news.drafts]
        quarantined_items.forget(conn, self.tenant, self.name, mended)
        anew = {draft.external_id for draft in news.drafts if draft.is_anew}
        return _StoredPage(saved, deleted, quarantined, anew)

    def delete(self, external_ids: Sequence[str], *, reason: str) -> int:
        """Commit tombstones for entries that the source lacks by now, and nudge."""
        with connection(self.pool) as conn:
            deleted = self._tombstone(conn, external_ids, reason)
            run_records.count(conn, self.run, Counts(deleted=len(deleted)))
            self.keep(conn, self.cursor)
        self._nudge([], deleted)
        self.note(self.name, Counts(deleted=len(deleted)))
        return len(deleted)

    def keep(
        self,
        conn: Connection,
        cursor: Mapping[str, Any] | None,
        remembered: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep how far the run is and what its adapter remembers, last in a commit.

        Of what was read ahead, only what came with this page. The schedule's cursor and
        the memory stand for what is stored: a dry run leaves both alone, and has its
        place in its own row.
        """
        if remembered is None:
            remembered = self.memory.take_changes()
        if self.run.is_dry:
            remembered = {}
            if cursor is not None:
                run_records.keep_place(conn, self.run, cursor)
                self.cursor = dict(cursor)
            cursor = None
        adapter_memory.save(conn, self.name, remembered)
        if cursor is None:
            if not schedule.renew(conn, self.lease):
                raise LeaseLostError
            return
        kept = dict(cursor)
        size = len(json.dumps(kept).encode())
        if size > MAX_CURSOR_BYTES:
            message = f"The adapter's cursor has {size} bytes; {MAX_CURSOR_BYTES} fit."
            raise IngestionError(message, reason="cursor_too_large")
        if not schedule.store_cursor(conn, self.lease, kept):
            raise LeaseLostError
        self.cursor = kept

    def note_complete(
        self,
        conn: Connection,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> None:
        """Stretch the time within which everything is here; a dry run brought none."""
        if not self.run.is_dry:
            source_state.note_complete(
                conn, self.tenant, self.name, start=start, end=end
            )

    def note_gaps(self, conn: Connection, gaps: Sequence[Gap]) -> None:
        """Remember what could not be read; a dry run remembers nothing."""
        if not self.run.is_dry:
            source_state.note_gaps(conn, self.tenant, self.name, gaps)

    def _tombstone(
        self, conn: Connection, external_ids: Sequence[str], reason: str
    ) -> list[UUID]:
        if not external_ids:
            return []
        return tombstone_many(
            conn,
            self.tenant,
            self.name,
            external_ids,
            reason=reason,
            stages=self.stages.of_deleted,
        )

    def _nudge(self, changed: Sequence[UUID], deleted: Sequence[UUID]) -> None:
        if self.work_class == due.LIVE:
            # Bulk work is found by the sweeper: a backfill does not fill the queues.
            for stage in self.stages.of_entries:
                if changed:
                    self.nudge(stage, list(dict.fromkeys(changed)))
        for stage in self.stages.of_deleted:
            if deleted:
                self.nudge(stage, deleted)


def counted(saved: Sequence[Saved], deleted: int, bad: int, quarantined: int) -> Counts:
    """Return the counts of what was stored."""
    of_status = dict.fromkeys(("created", "updated", "unchanged"), 0)
    for one in saved:
        status = one.status if one.status in of_status else "unchanged"
        of_status[status] += 1
    return Counts(
        added=of_status["created"],
        updated=of_status["updated"],
        unchanged=of_status["unchanged"],
        deleted=deleted,
        rejected=bad - quarantined,
        quarantined=quarantined,
    )
