"""The only writer of entries: a page, its revisions and its due work in one commit."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from psycopg import Connection

from shared.entries import entry_links, reply_updates, tombstones
from shared.entries.draft import EntryDraft
from shared.entries.saving.change_detection import Identity
from shared.entries.saving.entry_batch import EntryBatch, Saved
from shared.work import due_work as due


def save_page(
    conn: Connection,
    tenant: str,
    drafts: Sequence[EntryDraft],
    *,
    stages: Sequence[str],
    editor: str,
    work_class: int = due.LIVE,
    fetch_attachments: bool = True,
) -> list[Saved]:
    """Store a page and make its stages due, in the order given; idempotent.

    The caller commits, then nudges. A draft that changes nothing writes nothing.
    """
    saved: list[Saved | None] = [None] * len(drafts)
    waiting = list(enumerate(drafts))
    while waiting:
        # The same identity twice in a page: the second draft edits the first.
        seen: set[Identity] = set()
        turn: list[tuple[int, EntryDraft]] = []
        later: list[tuple[int, EntryDraft]] = []
        for place, draft in waiting:
            (later if draft.identity in seen else turn).append((place, draft))
            seen.add(draft.identity)
        page = EntryBatch(conn, tenant, stages, editor, work_class, fetch_attachments)
        results = page.save([draft for _, draft in turn])
        for (place, _), result in zip(turn, results, strict=True):
            saved[place] = result
        waiting = later
    return [one for one in saved if one is not None]


def tombstone(
    conn: Connection,
    tenant: str,
    entry_id: UUID,
    *,
    reason: str | None,
    stages: Sequence[str],
) -> bool:
    """Delete an entry from every answer; the row stays. False if it was gone."""
    gone = tombstones.bury(conn, tenant, [entry_id], reason=reason)
    reply_updates.add_work_of_gone(conn, tenant, gone, stages)
    return bool(gone)


def tombstone_many(
    conn: Connection,
    tenant: str,
    source: str,
    external_ids: Iterable[str],
    *,
    reason: str,
    stages: Sequence[str],
) -> list[UUID]:
    """Delete entries that the source lacks by now; return those that were there.

    `stages` are those that take away what was derived: vectors and document.
    """
    entry_links.share(conn, tenant, source)
    found = tombstones.live(conn, tenant, source, sorted(set(external_ids)))
    gone = tombstones.bury(conn, tenant, found, reason=reason)
    reply_updates.add_work_of_gone(conn, tenant, gone, stages)
    return gone
