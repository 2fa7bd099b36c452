"""Links between the entries of a source, by external ids: a reply may come first."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.postgres.fetch_rows import fetch_value

# A link of this kind makes no thread.
RELATED = "related"
# Who changes links has the source to themselves; who only adds or edits entries shares
# it, and waits for them: else a parent and its reply, each on its way, miss each other.
_LOCK: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))"""
_SHARE: LiteralString = """
    SELECT pg_advisory_xact_lock_shared(hashtextextended(%(name)s, 0))"""

_POINTED_AT: LiteralString = """
    SELECT EXISTS (
        SELECT FROM entry_link l
         WHERE l.tenant = %(tenant)s AND l.source = %(source)s
           AND l.target = ANY(ARRAY(
               SELECT json_array_elements_text(%(external_ids)s::json)))
           AND l.kind <> 'related')"""
# By the entries' keys: the index by tenant, which the planner would look through beside
# theirs while statistics are old, is of no use to what is no bare comparison.
_FORGET: LiteralString = """
    DELETE FROM entry_link
     WHERE (tenant = %(tenant)s) IS TRUE AND entry_id = ANY(%(entry_ids)s)
    RETURNING entry_id, kind, target"""
_ADD: LiteralString = """
    INSERT INTO entry_link (entry_id, kind, target, tenant, source)
    SELECT r.entry_id, r.kind, r.target, %(tenant)s, %(source)s
      FROM unnest(%(entry_ids)s::uuid[], %(kinds)s::text[], %(targets)s::text[])
           AS r (entry_id, kind, target)
     ORDER BY r.entry_id, r.kind, r.target
        ON CONFLICT DO NOTHING"""
# Those of the page that are superseded already, and those that it supersedes.
_SUPERSEDED: LiteralString = """
    SELECT old.id
      FROM (SELECT l.target FROM entry_link l
             WHERE l.tenant = %(tenant)s AND l.source = %(source)s
               AND l.kind = 'supersedes' AND l.target = ANY(%(external_ids)s)
             UNION
            SELECT l.target FROM entry_link l
             WHERE l.kind = 'supersedes' AND l.entry_id = ANY(%(entry_ids)s)) AS named
     CROSS JOIN LATERAL (
           SELECT e.id FROM entry e
            WHERE e.tenant = %(tenant)s AND e.source = %(source)s
              AND e.external_id = named.target AND e.deleted_at IS NULL
           OFFSET 0) AS old
     ORDER BY old.id
     LIMIT 100000"""
_SAID: LiteralString = """
    SELECT l.kind, l.target
      FROM entry_link l
     WHERE (l.tenant = %(tenant)s) IS TRUE AND l.entry_id = %(entry_id)s
       AND l.kind <> 'reply'
     ORDER BY l.kind, l.target
     LIMIT 1000"""
_OF_ENTRIES: LiteralString = f"""
    SELECT l.entry_id, l.kind, t.id
      FROM entry_link l
      JOIN entry t ON t.tenant = l.tenant AND t.source = l.source
                  AND t.external_id = l.target
     WHERE (l.tenant = %(tenant)s) IS TRUE AND l.entry_id = ANY(%(entry_ids)s)
           {rights.seen("t")}
     ORDER BY l.entry_id, l.kind, t.id
     LIMIT 10000"""
# Both ends may be gone by now: an edit of an edit.
_REPLACED: LiteralString = f"""
    SELECT t.source, t.external_id, n.external_id
      FROM entry n
      JOIN entry_link l ON l.entry_id = n.id AND l.kind = 'supersedes'
      JOIN entry t ON t.tenant = l.tenant AND t.source = l.source
                  AND t.external_id = l.target
     WHERE n.tenant = %(tenant)s AND {rights.in_threads("n", "%(threads)s")}
           {rights.seen("n")}{rights.seen("t")}
     ORDER BY t.source, t.external_id, n.id
     LIMIT 1000"""
_VISIBLE: LiteralString = f"""
    SELECT t.source, t.external_id
      FROM (SELECT DISTINCT n.source, n.external_id
              FROM unnest(%(sources)s::text[], %(external_ids)s::text[])
                   AS n (source, external_id)) AS named
      JOIN entry t ON t.source = named.source AND t.external_id = named.external_id
     WHERE t.tenant = %(tenant)s{rights.seen("t")}
     ORDER BY t.source, t.external_id
     LIMIT 10000"""


class _EntryLink(NamedTuple):
    entry_id: UUID
    kind: str
    target: str


class ChangedThreads(NamedTuple):
    """The entries that link to more than before, and those that link to less."""

    more: set[UUID]
    less: set[UUID]


def list_named_links(
    conn: Connection, tenant: str, entry_id: UUID
) -> list[tuple[str, str]]:
    """Return kind and external id of what an entry itself names, beside its parent."""
    values = {"tenant": tenant, "entry_id": entry_id}
    return [(kind, target) for kind, target in conn.execute(_SAID, values)]


def targets(draft: EntryDraft) -> Iterator[tuple[str, str]]:
    """Yield kind and external id of each link; the entry itself is left out."""
    named = [("reply", draft.reply_to), ("supersedes", draft.supersedes)]
    for kind, target in (*named, *((RELATED, one) for one in draft.related)):
        if target and target != draft.external_id:
            yield kind, target


def has_any(draft: EntryDraft) -> bool:
    """Tell whether the draft names other entries or a thread."""
    return bool(draft.reply_to or draft.supersedes or draft.related or draft.thread_key)


def lock(conn: Connection, tenant: str, source: str) -> None:
    """Lock the links of a source for this transaction; nobody else may change them."""
    conn.execute(_LOCK, {"name": _name(tenant, source)})


def share(conn: Connection, tenant: str, source: str) -> None:
    """Take a shared lock on a source, for a page that changes none of its links."""
    conn.execute(_SHARE, {"name": _name(tenant, source)})


def lock_page(
    conn: Connection, tenant: str, source: str, external_ids: Sequence[str]
) -> bool:
    """Share a source with other pages; lock it alone if others link to these entries.

    Before any row is locked. The shared lock is given back before the other is asked
    for: two pages that kept theirs meanwhile would wait for each other.
    """
    # The driver needs five times as long for an array of texts.
    asked = json.dumps(external_ids)
    values = {"tenant": tenant, "source": source, "external_ids": asked}
    with conn.transaction() as shared:
        share(conn, tenant, source)
        pointed_at = bool(fetch_value(conn, _POINTED_AT, values))
        shared.force_rollback = pointed_at
    if pointed_at:
        lock(conn, tenant, source)
    return pointed_at


def replace(
    conn: Connection, tenant: str, source: str, drafts: Mapping[UUID, EntryDraft]
) -> ChangedThreads:
    """Replace the links of these drafts' entries."""
    values: dict[str, Any] = {"tenant": tenant, "entry_ids": sorted(drafts)}
    old = {_EntryLink._make(row) for row in conn.execute(_FORGET, values)}
    rows = [
        _EntryLink(key, *link)
        for key, draft in drafts.items()
        for link in targets(draft)
    ]
    changed = ChangedThreads(_of_threads({*rows} - old), _of_threads(old - {*rows}))
    if not rows:
        return changed
    values = {
        "tenant": tenant,
        "source": source,
        "entry_ids": [row[0] for row in rows],
        "kinds": [row[1] for row in rows],
        "targets": [row[2] for row in rows],
    }
    conn.execute(_ADD, values)
    return changed


def superseded(
    conn: Connection, tenant: str, source: str, drafts: Mapping[UUID, EntryDraft]
) -> list[UUID]:
    """Return entries that these drafts supersede, and drafts superseded before."""
    values = {
        "tenant": tenant,
        "source": source,
        "external_ids": [draft.external_id for draft in drafts.values()],
        "entry_ids": sorted(drafts),
    }
    return [row[0] for row in conn.execute(_SUPERSEDED, values)]


def load_links(
    conn: Connection, scope: Scope, entry_ids: Sequence[UUID]
) -> dict[UUID, list[tuple[str, UUID]]]:
    """Return kind and target of the links of entries, as far as the caller sees it."""
    values = {**scope.params, "entry_ids": list(entry_ids)}
    found: dict[UUID, list[tuple[str, UUID]]] = {}
    for entry_id, kind, target in conn.execute(_OF_ENTRIES, values):
        found.setdefault(entry_id, []).append((kind, target))
    return found


def replaced(
    conn: Connection, scope: Scope, thread_id: UUID
) -> dict[tuple[str, str], str]:
    """Return the successors of replaced entries of a thread, by the old names."""
    rows = conn.execute(_REPLACED, {**scope.params, "threads": [thread_id]}).fetchall()
    return {(source, old): new for source, old, new in rows}


def select_visible(
    conn: Connection, scope: Scope, names: Sequence[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return which of these names, by source and external id, the caller may see."""
    if not names:
        return set()
    sources, external_ids = zip(*names, strict=True)
    named = {"sources": list(sources), "external_ids": list(external_ids)}
    rows = conn.execute(_VISIBLE, {**scope.params, **named}).fetchall()
    return {(source, external_id) for source, external_id in rows}


def _of_threads(links: Iterable[_EntryLink]) -> set[UUID]:
    return {one.entry_id for one in links if one.kind != RELATED}


def _name(tenant: str, source: str) -> str:
    # A tenant's name may hold anything but this.
    return f"links\x1f{tenant}\x1f{source}"
