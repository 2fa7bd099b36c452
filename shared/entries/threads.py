"""Which entries of a source are one thread: by replies, by edits, by a common key.

A thread is named by the smallest id of its entries, whichever of them came first, so
the same entries make the same thread in any order. A parent that is still missing, a
reply to itself and a circle of replies need no rule of their own.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.entries import entry_links
from shared.entries.draft import EntryDraft

# Statistics that are older than the load of a source's history say nothing of its keys:
# by them, whole tables were read at each step.
_BY_INDEX: LiteralString = """
    SELECT set_config('enable_seqscan', %(scans)s, true),
           set_config('enable_bitmapscan', %(scans)s, true)"""
# Entries and keys are visited once each, so that a key of a thousand entries costs a
# thousand steps and not a million. Each step goes by an index: `OFFSET 0` keeps the
# planner, which expects a thousand times as many, from reading whole tables instead.
_REACHED: LiteralString = """
    WITH RECURSIVE reached (id, key) AS (
        (SELECT named.id, NULL::text FROM unnest(%(entry_ids)s::uuid[]) AS named (id)
          UNION
         SELECT e.id, NULL FROM entry e
          WHERE e.tenant = %(tenant)s AND e.thread_id = ANY(%(thread_ids)s))
        UNION
        SELECT step.id, step.key
          FROM reached r
         CROSS JOIN LATERAL (
            SELECT p.id, NULL::text AS key
              FROM (SELECT l.target FROM entry_link l
                     WHERE l.entry_id = r.id AND l.kind <> 'related' OFFSET 0) AS l
             CROSS JOIN LATERAL (
                   SELECT e.id FROM entry e
                    WHERE e.tenant = %(tenant)s AND e.source = %(source)s
                      AND e.external_id = l.target OFFSET 0) AS p
             UNION ALL
            SELECT c.entry_id, NULL
              FROM (SELECT e.external_id FROM entry e
                     WHERE e.id = r.id OFFSET 0) AS e
             CROSS JOIN LATERAL (
                   SELECT l.entry_id FROM entry_link l
                    WHERE l.tenant = %(tenant)s AND l.source = %(source)s
                      AND l.target = e.external_id AND l.kind <> 'related'
                   OFFSET 0) AS c
             UNION ALL
            (SELECT NULL, e.thread_key FROM entry e
              WHERE e.id = r.id AND e.thread_key IS NOT NULL OFFSET 0)
             UNION ALL
            (SELECT e.id, NULL FROM entry e
              WHERE e.tenant = %(tenant)s AND e.source = %(source)s
                AND e.thread_key = r.key OFFSET 0)) AS step)
    SELECT e.id, e.external_id, e.thread_key, e.thread_id, e.targets
      FROM reached r
     CROSS JOIN LATERAL (
           SELECT e.id, e.external_id, e.thread_key, e.thread_id,
                  ARRAY(SELECT l.target FROM entry_link l
                         WHERE l.entry_id = e.id AND l.kind <> 'related'
                         ORDER BY l.target) AS targets
             FROM entry e
            WHERE e.id = r.id OFFSET 0) AS e
     ORDER BY e.id
     LIMIT 1000000"""
# What touches entries at one step: what they name, who has their key, and who has named
# one of them before it came. Of a key one entry is enough: they are one thread already.
_NEAR: LiteralString = """
    SELECT 'target' AS touch, named.name, near.id, near.thread_id
      FROM json_array_elements_text(%(targets)s::json) AS named (name)
     CROSS JOIN LATERAL (
           SELECT e.id, e.thread_id FROM entry e
            WHERE e.tenant = %(tenant)s AND e.source = %(source)s
              AND e.external_id = named.name OFFSET 0) AS near
     UNION ALL
    SELECT 'key', named.name, near.id, near.thread_id
      FROM json_array_elements_text(%(keys)s::json) AS named (name)
     CROSS JOIN LATERAL (
           SELECT e.id, e.thread_id FROM entry e
            WHERE e.tenant = %(tenant)s AND e.source = %(source)s
              AND e.thread_key = named.name AND e.id <> ALL(%(entry_ids)s)
            LIMIT 1) AS near
     UNION ALL
    SELECT 'reply', named.name, near.id, near.thread_id
      FROM json_array_elements_text(%(fresh)s::json) AS named (name)
     CROSS JOIN LATERAL (
           SELECT l.entry_id FROM entry_link l
            WHERE l.tenant = %(tenant)s AND l.source = %(source)s
              AND l.target = named.name AND l.kind <> 'related' OFFSET 0) AS l
     CROSS JOIN LATERAL (
           SELECT e.id, e.thread_id FROM entry e
            WHERE e.id = l.entry_id OFFSET 0) AS near"""
_MEMBERS: LiteralString = """
    SELECT e.id, e.thread_id FROM entry e
     WHERE e.tenant = %(tenant)s AND e.thread_id = ANY(%(thread_ids)s)
     ORDER BY e.id
     LIMIT 1000000
       FOR NO KEY UPDATE"""
# What is new in this transaction, or deleted, stays so. Of the others it is news where
# all who may see one may see what has moved it, too: the rest would learn by it that
# something was written. A reply shows whom it answers: that is news to all its readers.
_MOVE: LiteralString = f"""
    UPDATE entry e
       SET thread_id = r.thread_id,
           change = CASE WHEN e.changed_xid = pg_current_xact_id()
                           OR e.deleted_at IS NOT NULL OR NOT r.is_news
                         THEN e.change ELSE 'edited' END,
           changed_xid = CASE WHEN r.is_news THEN pg_current_xact_id()
                              ELSE e.changed_xid END
      FROM (SELECT m.id, m.thread_id, EXISTS (
                   SELECT FROM unnest(%(cause_ids)s::uuid[], %(cause_threads)s::uuid[])
                               AS c (id, thread_id)
                     JOIN entry cause ON cause.id = c.id AND cause.id <> old.id
                    WHERE cause.tenant = %(tenant)s
                      AND (c.thread_id = m.thread_id
                           OR cause.thread_id = old.thread_id)
                      AND ((cause.source = old.source
                            AND cause.external_id = old.reply_to)
                           OR (true{rights.as_open("cause", "old")}))) AS is_news
              FROM unnest(%(entry_ids)s::uuid[], %(thread_ids)s::uuid[])
                   AS m (id, thread_id)
              JOIN entry old ON old.id = m.id) AS r
     WHERE e.id = r.id AND e.tenant = %(tenant)s"""


class _Member(NamedTuple):
    id: UUID
    external_id: str
    key: str | None
    thread_id: UUID | None
    targets: Sequence[str]


class _Near(NamedTuple):
    touch: str
    name: str
    id: UUID
    thread_id: UUID | None


class _Groups:
    """Ids that belong together, each group called by the smallest of them."""

    def __init__(self) -> None:
        self._below: dict[UUID, UUID] = {}

    def name(self, one: UUID) -> UUID:
        """Return the name of an id's group: its smallest id, maybe this one."""
        below = self._below
        while (low := below.get(one, one)) != one:
            below[one] = one = below.get(low, low)
        return one

    def unite(self, one: UUID, other: UUID) -> None:
        """Merge the groups of two ids."""
        low, high = sorted((self.name(one), self.name(other)))
        if low != high:
            self._below[high] = low

    def names(self) -> set[UUID]:
        """Return the names of all groups that have several members."""
        return {self.name(one) for one in self._below}


def extend(
    conn: Connection,
    tenant: str,
    source: str,
    drafts: Mapping[UUID, EntryDraft],
    standing: Mapping[UUID, UUID | None],
) -> None:
    """Join entries that are new, or that say more of others than they did.

    By that nothing falls apart: a reply to a thread of thousands looks at one of them.
    Replies that came before what they name are told anew.
    `standing` has the threads of those that are not new. The source is ours alone
    meanwhile (`entry_links.lock`). It is no revision.
    """
    if not drafts:
        return
    named = {key: _named(draft) for key, draft in drafts.items()}
    near = _near(conn, tenant, source, drafts, named, standing)
    # A thread stands for all of its entries; an entry that stands alone, for itself.
    alone = {one.id for one in near if one.thread_id is None}
    alone |= {key for key in drafts if standing.get(key) is None}
    groups = _united(drafts, named, near, standing)
    together = groups.names()
    moved = {
        one: groups.name(one)
        for one in alone
        if groups.name(one) in together
        or (one in drafts and (named[one] or drafts[one].thread_key is not None))
    }
    threads = {one.thread_id for one in near} | set(standing.values())
    renamed = sorted(
        one for one in threads if one is not None and groups.name(one) != one
    )
    if renamed:
        values = {"tenant": tenant, "thread_ids": renamed}
        for entry_id, thread_id in conn.execute(_MEMBERS, values):
            moved[entry_id] = groups.name(thread_id)
    for one in near:
        # It is shown with its parent from now on: that is news of it in any thread.
        if one.touch == "reply" and one.id not in drafts:
            moved[one.id] = groups.name(one.thread_id or one.id)
    causes = [(key, groups.name(standing.get(key) or key)) for key in drafts]
    _move(conn, tenant, sorted(moved.items()), causes)


def join(
    conn: Connection,
    tenant: str,
    source: str,
    entry_ids: Iterable[UUID],
    thread_ids: Iterable[UUID],
    *,
    without: UUID | None = None,
) -> None:
    """Compute the threads of these entries and of these threads anew.

    Every entry of them is looked at: one that held the others together may have let
    go, or is about to be removed. The source is ours alone meanwhile
    (`entry_links.lock`). It is no revision.
    """
    said = {*entry_ids}
    values = {
        "tenant": tenant,
        "source": source,
        "entry_ids": sorted(said),
        "thread_ids": sorted(thread_ids),
    }
    with _by_index(conn), conn.cursor(binary=True) as cur:
        members = [_Member._make(row) for row in cur.execute(_REACHED, values)]
    staying = [one for one in members if one.id != without]
    named = list(zip(staying, _threads(staying), strict=True))
    moved = [(one.id, thread) for one, thread in named if thread != one.thread_id]
    causes = [(one.id, thread) for one, thread in named if one.id in said]
    if without is not None:
        causes.append((without, None))
    _move(conn, tenant, moved, causes)


def _near(
    conn: Connection,
    tenant: str,
    source: str,
    drafts: Mapping[UUID, EntryDraft],
    named: Mapping[UUID, Sequence[str]],
    standing: Mapping[UUID, UUID | None],
) -> list[_Near]:
    keys = {one.thread_key for one in drafts.values() if one.thread_key is not None}
    fresh = [draft.external_id for key, draft in drafts.items() if key not in standing]
    values = {
        "tenant": tenant,
        "source": source,
        "entry_ids": sorted(drafts),
        "targets": json.dumps(sorted({one for some in named.values() for one in some})),
        "keys": json.dumps(sorted(keys)),
        "fresh": json.dumps(fresh),
    }
    with _by_index(conn), conn.cursor(binary=True) as cur:
        return [_Near._make(row) for row in cur.execute(_NEAR, values)]


def _united(
    drafts: Mapping[UUID, EntryDraft],
    named: Mapping[UUID, Sequence[str]],
    near: Sequence[_Near],
    standing: Mapping[UUID, UUID | None],
) -> _Groups:
    """Return which threads, and which entries that stand alone, belong together."""
    at = {draft.external_id: standing.get(key) or key for key, draft in drafts.items()}
    by_key: dict[str, UUID] = {}
    groups = _Groups()
    for one in near:
        place = one.thread_id or one.id
        if one.touch == "reply":
            groups.unite(place, at[one.name])
        elif one.touch == "key":
            by_key[one.name] = place
        else:
            at.setdefault(one.name, place)
    for key, draft in drafts.items():
        place = at[draft.external_id]
        if draft.thread_key is not None:
            groups.unite(place, by_key.setdefault(draft.thread_key, place))
        for target in named[key]:
            if target in at:
                groups.unite(place, at[target])
    return groups


def _named(draft: EntryDraft) -> list[str]:
    """Return whom a draft names as being of its thread."""
    return [
        target
        for kind, target in entry_links.targets(draft)
        if kind != entry_links.RELATED
    ]


@contextmanager
def _by_index(conn: Connection) -> Iterator[None]:
    conn.execute(_BY_INDEX, {"scans": "off"})
    yield
    conn.execute(_BY_INDEX, {"scans": "on"})


def _move(
    conn: Connection,
    tenant: str,
    moved: Sequence[tuple[UUID, UUID | None]],
    causes: Sequence[tuple[UUID, UUID | None]],
) -> None:
    """Store threads; `causes` are the entries that say so, each with its thread."""
    if not moved:
        return
    values = {
        "tenant": tenant,
        "entry_ids": [entry_id for entry_id, _ in moved],
        "thread_ids": [thread_id for _, thread_id in moved],
        "cause_ids": [entry_id for entry_id, _ in causes],
        "cause_threads": [thread_id for _, thread_id in causes],
    }
    conn.execute(_MOVE, values)


def _threads(members: Sequence[_Member]) -> list[UUID | None]:
    """Return each one's thread; none for what stands alone and says of no other."""
    by_name = {member.external_id: member.id for member in members}
    by_key: dict[str, UUID] = {}
    groups = _Groups()
    for member in members:
        if member.key is not None:
            groups.unite(member.id, by_key.setdefault(member.key, member.id))
        for target in member.targets:
            if target in by_name:
                groups.unite(member.id, by_name[target])
    together = groups.names()
    return [
        name if name in together or member.key is not None or member.targets else None
        for member in members
        for name in (groups.name(member.id),)
    ]
