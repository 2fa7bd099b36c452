"""What a source sent becomes entries: a page in one commit, with its cursor last."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import rows as due
from shared.due import schedule
from shared.entries import links
from shared.entries.adapter import MAX_CURSOR_BYTES, IdStamp, Page, RawItem
from shared.entries.draft import EntryDraft
from shared.entries.entry import Saved, save_page, tombstone_many
from shared.errors import IngestionError, MalformedEntryError
from shared.postgres import Pool, connection
from shared.sources import listing, memory, rejected, runs, state
from shared.sources.admit import Rules
from shared.sources.loading import Opened
from shared.sources.memory import StoredMemory
from shared.sources.rejected import Rejected
from shared.sources.runs import Counts, IngestionRun
from shared.sources.unchanged import Sieve, Sifted

Nudge = Callable[[str, Sequence[UUID]], None]
Note = Callable[[str, Counts], None]
Steps = Generator[Counts, None, None]


class LeaseLostError(IngestionError):
    """Another process goes on with this run; what was not committed is read again."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What becomes due for an entry that is new or edited, and for one that is gone."""

    of_entries: tuple[str, ...]
    of_deleted: tuple[str, ...]


@dataclass(slots=True)
class Intake:
    """One run of one source: everything that its steps need, and how far they are."""

    opened: Opened
    rules: Rules
    pool: Pool
    stages: Stages
    nudge: Nudge
    note: Note
    lease: schedule.Run
    run: IngestionRun
    memory: StoredMemory
    sieve: Sieve
    # The runtime's own place, beside or around the adapter's.
    cursor: dict[str, Any] | None
    work_class: int = due.LIVE
    seen: int = 0
    is_cut: bool = False
    # The adapter has said that nothing follows.
    is_through: bool = False

    @property
    def tenant(self) -> str:
        """Whose entries these are."""
        return self.opened.tenant

    @property
    def name(self) -> str:
        """The source's name."""
        return self.opened.name

    def store(
        self,
        items: Sequence[RawItem],
        cursor: Mapping[str, Any] | None,
        *,
        page: Page | None = None,
        listed_by: UUID | None = None,
        again: bool = False,
    ) -> Counts:
        """Commit what these items say, and the cursor; then nudge.

        A run that has reached its limit keeps the cursor of the page before. What it
        reads `again` counts only where it has changed meanwhile.
        """
        items, cursor = self._within_limit(items, cursor)
        with connection(self.pool) as conn:
            sifted = self.sieve.sift(conn, items)
        drafts, gone, bad = self._read(sifted.news)
        if self.run.is_dry:
            return self._only_count(sifted, len(items), len(gone), len(bad))
        with connection(self.pool) as conn:
            if gone:
                # Before any entry is locked, or two pages could wait for each other.
                links.lock(conn, self.tenant, self.name)
            saved = save_page(
                conn,
                self.tenant,
                drafts,
                stages=self.stages.of_entries,
                editor=f"source:{self.name}",
                work_class=self.work_class,
                fetch_attachments=self.opened.settings.attachments == "fetch",
            )
            deleted = self._tombstone(conn, gone, "deleted at its source")
            quarantined = rejected.keep(conn, self.tenant, self.name, bad)
            mended = [draft.external_id for draft in drafts]
            rejected.forget(conn, self.tenant, self.name, mended)
            if listed_by is not None:
                listed = [IdStamp(item.external_id, item.stamp) for item in items]
                listing.add(conn, listed_by, listed)
            counts = _counts(saved, len(deleted), len(bad), quarantined)
            counts += Counts(len(items), sifted.bytes, unchanged=sifted.unchanged)
            if again:
                counts = replace(counts, seen=0, unchanged=0, rejected=0, quarantined=0)
            expected = page.total if page is not None else None
            runs.count(conn, self.run, counts, expected=expected)
            if page is not None:
                state.note_gaps(conn, self.tenant, self.name, page.gaps)
                if page.complete_to is not None:
                    end = page.complete_to
                    state.note_complete(conn, self.tenant, self.name, end=end)
            self.keep(conn, cursor)
        changed = [
            one.entry_id for one in saved if one.status in {"created", "updated"}
        ]
        self._nudge(changed, deleted)
        self.note(self.name, counts)
        self.seen += len(items)
        self.is_through = page is not None and page.is_last
        return counts

    def _only_count(self, sifted: Sifted, seen: int, gone: int, bad: int) -> Counts:
        counts = Counts(
            seen=seen,
            bytes=sifted.bytes,
            unchanged=sifted.unchanged,
            deleted=gone,
            rejected=bad,
        )
        self.memory.discard_changes()
        with connection(self.pool) as conn:
            runs.count(conn, self.run, counts)
            self.keep(conn, None)
        self.seen += seen
        return counts

    def delete(self, external_ids: Sequence[str], *, reason: str) -> int:
        """Commit tombstones for what the source has no more, and nudge."""
        with connection(self.pool) as conn:
            deleted = self._tombstone(conn, external_ids, reason)
            runs.count(conn, self.run, Counts(deleted=len(deleted)))
            self.keep(conn, self.cursor)
        self._nudge([], deleted)
        self.note(self.name, Counts(deleted=len(deleted)))
        return len(deleted)

    def keep(
        self, conn: Connection[TupleRow], cursor: Mapping[str, Any] | None
    ) -> None:
        """Keep how far the run is and what its adapter remembers, last in a commit."""
        memory.save(conn, self.name, self.memory.take_changes())
        if cursor is None:
            if schedule.renew(conn, self.lease.claim) == 0:
                raise LeaseLostError
            return
        kept = dict(cursor)
        size = len(json.dumps(kept).encode())
        if size > MAX_CURSOR_BYTES:
            message = f"The adapter's cursor has {size} bytes; {MAX_CURSOR_BYTES} fit."
            raise IngestionError(message, reason="cursor_too_large")
        if not schedule.keep(conn, self.lease, kept):
            raise LeaseLostError
        self.cursor = kept

    def _within_limit(
        self, items: Sequence[RawItem], cursor: Mapping[str, Any] | None
    ) -> tuple[Sequence[RawItem], Mapping[str, Any] | None]:
        limit = self.run.limit
        if limit is None or self.seen + len(items) < limit:
            return items, cursor
        room = limit - self.seen
        self.is_cut = True
        if room == len(items):
            return items, cursor
        # What the adapter remembers of this page would hide its rest from the next run.
        self.memory.discard_changes()
        return items[:room], self.cursor

    def _read(
        self, items: Iterable[RawItem]
    ) -> tuple[list[EntryDraft], list[str], list[Rejected]]:
        drafts: list[EntryDraft] = []
        gone: list[str] = []
        bad: list[Rejected] = []
        now = self.opened.io.now()
        for item in items:
            try:
                draft = self.read_one(item, now)
            except MalformedEntryError as exc:
                # What its author has not finished is read once it is.
                if exc.reason != "pending":
                    bad.append(Rejected(item, exc))
                continue
            if draft is None:
                gone.append(item.external_id)
            else:
                drafts.append(draft)
        return drafts, gone, bad

    def read_one(self, item: RawItem, now: datetime) -> EntryDraft | None:
        """Return the draft of an item; None when it is a tombstone."""
        entry = self.opened.adapter.parse(item)
        if entry.deleted:
            return None
        return self.rules.draft(entry, item, now=now)

    def _tombstone(
        self, conn: Connection[TupleRow], external_ids: Sequence[str], reason: str
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


def _counts(saved: Sequence[Saved], deleted: int, bad: int, quarantined: int) -> Counts:
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
