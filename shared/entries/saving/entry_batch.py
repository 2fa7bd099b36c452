"""One page on its way into the tables: what is news of it, in a fixed order of locks.

First the sources, then the entries by id, then what belongs to them, then the work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.entries import entry_links, reply_updates, threads
from shared.entries import tombstones as graves
from shared.entries.draft import EntryDraft
from shared.entries.saving import (
    attachment_rows,
    change_detection,
    entry_rows,
    payloads,
)
from shared.entries.saving.change_detection import (
    EntryFingerprint,
    Identity,
    News,
    Step,
)
from shared.entries.saving.entry_rows import Revised
from shared.ids import uuid7
from shared.messaging.stage_names import ATTACHMENTS_STAGE, INDEX_STAGE
from shared.work import due_work as due

Status = Literal["created", "updated", "unchanged", "purged"]

# What was purged has no entry.
NO_ENTRY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of one draft."""

    entry_id: UUID
    source: str
    external_id: str
    revision: int
    status: Status


class _Edit(NamedTuple):
    row: EntryFingerprint
    step: Step
    news: News

    @property
    def told(self) -> bool:
        """Tell whether anybody sees that something changed."""
        return self.step > Step.FACTS


@dataclass(slots=True)
class EntryBatch:
    """Drafts of different identities, saved in one transaction."""

    conn: Connection
    tenant: str
    stages: Sequence[str]
    editor: str
    work_class: int
    fetch_attachments: bool
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    known: dict[Identity, EntryFingerprint] = field(default_factory=dict)
    made: dict[UUID, News] = field(default_factory=dict)
    edits: list[_Edit] = field(default_factory=list)
    revised: list[Revised] = field(default_factory=list)

    def save(self, drafts: Sequence[EntryDraft]) -> list[Saved]:
        """Write drafts that are news, make their stages due; return all outcomes."""
        self.known = change_detection.find(
            self.conn, self.tenant, [draft.identity for draft in drafts]
        )
        news = [self._news(draft) for draft in drafts]
        fresh = [one for one in news if one.identity not in self.known]
        changed = [
            draft
            for draft, one in zip(drafts, news, strict=True)
            if self._step(one) is not Step.NOTHING
        ]
        if not fresh and not changed:
            return [_unchanged(self.known[one.identity]) for one in news]
        alone = self._lock_sources(news)
        changed += self._insert(fresh)
        self._edit(changed, alone)
        self.revised = self._new_revisions()
        fetch = self._add_revisions()
        gone = {one for source in alone for one in self._link(source)}
        self._add_work(fetch, gone, self._answers(alone, gone))
        return self._results(news)

    def _news(self, draft: EntryDraft) -> News:
        row = self.known.get(draft.identity)
        return News.of(draft, row.entry_time if row else self.now)

    def _step(self, one: News) -> Step:
        row = self.known.get(one.identity)
        return Step.NOTHING if row is None else one.step(row)

    def _lock_sources(self, news: Sequence[News]) -> list[str]:
        """Lock every source that is written to; return those whose links may change."""
        appearing: dict[str, list[str]] = {}
        linked: set[str] = set()
        for one in news:
            row, step = self.known.get(one.identity), self._step(one)
            if row is not None and step is Step.NOTHING:
                continue
            names = appearing.setdefault(one.draft.source, [])
            # Whoever may read it may be shown it as a parent, which is no revision.
            # A reply may have come since the look: asked again under the lock.
            if row is None or row.deleted or step >= Step.ASIDE:
                names.append(one.draft.external_id)
            was_linked = row is not None and row.thread_id is not None
            may_link = row is None or step is Step.REVISION
            if (was_linked and step >= Step.ASIDE) or (
                may_link and entry_links.has_any(one.draft)
            ):
                linked.add(one.draft.source)
        alone = []
        for source, names in sorted(appearing.items()):
            if source in linked:
                entry_links.lock(self.conn, self.tenant, source)
            elif not entry_links.lock_page(self.conn, self.tenant, source, names):
                continue
            alone.append(source)
        return alone

    def _insert(self, fresh: Sequence[News]) -> list[EntryDraft]:
        """Insert new entries; return drafts that others have inserted meanwhile."""
        # In order from the start: what is sorted by key later is sorted already.
        keys = sorted((uuid7() for _ in fresh), key=lambda key: key.int)
        named = dict(zip(keys, fresh, strict=True))
        made = entry_rows.insert(self.conn, self.tenant, named)
        self.made = {key: one for key, one in named.items() if key in made}
        others = [one.draft for key, one in named.items() if key not in made]
        if not others:
            return []
        self.known |= change_detection.find(
            self.conn, self.tenant, [draft.identity for draft in others]
        )
        return [draft for draft in others if draft.identity in self.known]

    def _edit(self, changed: Sequence[EntryDraft], alone: Sequence[str]) -> None:
        if not changed:
            return
        shown = self._replies(changed, alone)
        # What is not there any more was purged since the look.
        ids = [self.known.pop(draft.identity).id for draft in changed]
        # Only now nobody else can change them: compare again.
        self.known |= change_detection.lock(self.conn, self.tenant, {*ids, *shown})
        for draft in changed:
            one = self._news(draft)
            step = self._step(one)
            if step is not Step.NOTHING:
                self.edits.append(_Edit(self.known[one.identity], step, one))
        entry_rows.update(
            self.conn,
            self.tenant,
            [(edit.row.id, edit.step, edit.news) for edit in self.edits if edit.told],
        )
        entry_rows.update_source_fields(
            self.conn,
            self.tenant,
            [(edit.row.id, edit.news) for edit in self.edits if not edit.told],
        )
        reply_updates.tell_anew(self.conn, self.tenant, shown)

    def _replies(
        self, changed: Sequence[EntryDraft], alone: Sequence[str]
    ) -> list[UUID]:
        """Return the replies to changed entries, whose readers the change may affect.

        They are locked with the page's own rows, in one order of ids.
        """
        ours = [draft for draft in changed if draft.source in alone]
        if not ours:
            return []
        # Nobody else writes to these sources by now; since the look somebody may have.
        self.known |= change_detection.find(
            self.conn, self.tenant, [draft.identity for draft in ours]
        )
        parents = [
            row.id
            for draft in ours
            if not (row := self.known[draft.identity]).is_shown_as(draft)
            and self._step(self._news(draft)) >= Step.ASIDE
        ]
        return reply_updates.to(self.conn, self.tenant, parents)

    def _new_revisions(self) -> list[Revised]:
        found = [Revised(key, 1, one) for key, one in self.made.items()]
        return found + [
            Revised(edit.row.id, edit.row.revision + 1, edit.news)
            for edit in self.edits
            if edit.step is Step.REVISION
        ]

    def _add_revisions(self) -> set[UUID]:
        """Write what belongs to new revisions; return whose files are to be fetched."""
        entry_rows.add_revisions(self.conn, self.tenant, self.revised, self.editor)
        payloads.store(self.conn, self.tenant, self.revised)
        return attachment_rows.store(
            self.conn, self.tenant, self.revised, fetch=self.fetch_attachments
        )

    def _link(self, source: str) -> list[UUID]:
        """Write links and threads of one source; return the entries now superseded."""
        drafts = {
            one.entry_id: one.news.draft
            for one in self.revised
            if one.news.draft.source == source
        }
        self._thread(source, drafts)
        old = entry_links.superseded(self.conn, self.tenant, source, drafts)
        return graves.bury(self.conn, self.tenant, old, reason=graves.SUPERSEDED)

    def _thread(self, source: str, drafts: Mapping[UUID, EntryDraft]) -> None:
        """Write who names whom; only where somebody let go, whole threads are read."""
        more, less = entry_links.replace(self.conn, self.tenant, source, drafts)
        before = {one.row.id: one.row for one in self.edits if one.row.id in drafts}
        for key, row in before.items():
            if row.thread_key != drafts[key].thread_key:
                (more if row.thread_key is None else less).add(key)
        if less:
            were = [row.thread_id for row in before.values() if row.thread_id]
            threads.join(self.conn, self.tenant, source, drafts, were)
            return
        more |= self.made.keys()
        said = {key: one for key, one in drafts.items() if key in more}
        standing = {key: before[key].thread_id for key in said if key in before}
        threads.extend(self.conn, self.tenant, source, said, standing)

    def _answers(self, alone: Sequence[str], gone: set[UUID]) -> list[UUID]:
        """Return the replies to entries that this page changed or replaced."""
        seen = {one.row.id: one.row.source for one in self.edits if one.told}
        seen |= {one.entry_id: one.news.draft.source for one in self.revised}
        parents = {key for key, source in seen.items() if source in alone} | gone
        return reply_updates.to(self.conn, self.tenant, parents)

    def _add_work(
        self, fetch: set[UUID], gone: set[UUID], answers: Sequence[UUID]
    ) -> None:
        """Make due what follows, stage by stage, in the order in which they follow."""
        revised = [one.entry_id for one in self.revised if one.entry_id not in gone]
        aside = {edit.row.id for edit in self.edits if edit.step is Step.ASIDE}
        wanted: dict[str, list[UUID]] = dict.fromkeys(self.stages, revised)
        for stage in self.stages:
            if stage.startswith(reply_updates.VECTORS):
                # What a reply is about may be said by what it replies to.
                wanted[stage] = [*{*revised, *gone, *answers}]
        wanted[ATTACHMENTS_STAGE] = [one for one in revised if one in fetch]
        wanted[INDEX_STAGE] = [*wanted.get(INDEX_STAGE, ()), *gone, *(aside - gone)]
        # Whose rights or place changed is news, by whatever it was read.
        anew = {edit.row.id for edit in self.edits if edit.news.draft.is_anew} - aside
        for stage, ids in wanted.items():
            due.add(
                self.conn,
                self.tenant,
                ids,
                [stage],
                work_class=self.work_class,
                bulk=anew,
            )

    def _results(self, news: Sequence[News]) -> list[Saved]:
        made = {one.identity: key for key, one in self.made.items()}
        edits = {edit.news.identity: edit for edit in self.edits if edit.told}
        return [
            self._result(one.identity, made.get(one.identity), edits.get(one.identity))
            for one in news
        ]

    def _result(
        self, identity: Identity, made: UUID | None, edit: _Edit | None
    ) -> Saved:
        if made is not None:
            return Saved(made, *identity, 1, "created")
        row = self.known.get(identity)
        if row is None:
            return Saved(NO_ENTRY, *identity, 0, "purged")
        if edit is None:
            return _unchanged(row)
        number = row.revision + (edit.step is Step.REVISION)
        return Saved(row.id, *identity, number, "updated")


def _unchanged(row: EntryFingerprint) -> Saved:
    return Saved(row.id, row.source, row.external_id, row.revision, "unchanged")
