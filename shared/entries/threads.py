"""Which entries of a source are one thread: by replies, by edits, by a common key.

A thread is named by the smallest id of its entries, whichever of them came first, so
the same entries make the same thread in any order. A parent that is still missing, a
reply to itself and a circle of replies need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

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
# What is new in this transaction, or deleted, stays so; of the others it is news.
_MOVE: LiteralString = """
    UPDATE entry e
       SET thread_id = r.thread_id,
           change = CASE WHEN e.changed_xid = pg_current_xact_id()
                           OR e.deleted_at IS NOT NULL
                         THEN e.change ELSE 'edited' END,
           changed_xid = pg_current_xact_id()
      FROM unnest(%(entry_ids)s::uuid[], %(thread_ids)s::uuid[])
           AS r (id, thread_id)
     WHERE e.id = r.id AND e.tenant = %(tenant)s"""


class _Member(NamedTuple):
    id: UUID
    external_id: str
    key: str | None
    thread_id: UUID | None
    targets: Sequence[str]


def join(
    conn: Connection[TupleRow],
    tenant: str,
    source: str,
    entry_ids: Iterable[UUID],
    thread_ids: Iterable[UUID],
) -> None:
    """Make the threads of these entries, and of these threads, what they are now.

    The source is ours alone meanwhile (`links.lock`). It is no revision.
    """
    values = {
        "tenant": tenant,
        "source": source,
        "entry_ids": sorted(entry_ids),
        "thread_ids": sorted(thread_ids),
    }
    conn.execute(_BY_INDEX, {"scans": "off"})
    with conn.cursor(binary=True) as cur:
        members = [_Member._make(row) for row in cur.execute(_REACHED, values)]
    conn.execute(_BY_INDEX, {"scans": "on"})
    moved = [
        (member.id, thread_id)
        for member, thread_id in zip(members, _threads(members), strict=True)
        if thread_id != member.thread_id
    ]
    if moved:
        values = {
            "tenant": tenant,
            "entry_ids": [entry_id for entry_id, _ in moved],
            "thread_ids": [thread_id for _, thread_id in moved],
        }
        conn.execute(_MOVE, values)


def _threads(members: Sequence[_Member]) -> list[UUID | None]:
    """Return each one's thread; none for what stands alone and says of no other."""
    by_name = {member.external_id: place for place, member in enumerate(members)}
    by_key: dict[str, int] = {}
    roots = list(range(len(members)))

    def root(place: int) -> int:
        while roots[place] != place:
            roots[place] = place = roots[roots[place]]
        return place

    def unite(one: int, other: int) -> None:
        # Members are sorted by id: the smaller place is the smaller id.
        low, high = sorted((root(one), root(other)))
        roots[high] = low

    for place, member in enumerate(members):
        if member.key is not None:
            unite(place, by_key.setdefault(member.key, place))
        for target in member.targets:
            if target in by_name:
                unite(place, by_name[target])
    found = [root(place) for place in range(len(members))]
    together = {low for place, low in enumerate(found) if low != place}
    return [
        members[low].id
        if low in together or member.key is not None or member.targets
        else None
        for member, low in zip(members, found, strict=True)
    ]
