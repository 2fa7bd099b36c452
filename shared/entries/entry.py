"""The only writer of entries: a page, its revisions and its due work in one commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

from shared.due import rows as due
from shared.entries.draft import EntryDraft
from shared.uuid7 import uuid7

Status = Literal["created", "updated", "unchanged"]

INDEX_STAGE = "index"

_KNOWN: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.content_hash, e.access_hash,
           e.entry_time, e.deleted_at IS NOT NULL AS deleted
      FROM entry e
      JOIN unnest(%(sources)s::text[], %(external_ids)s::text[])
           AS asked (source, external_id)
        ON e.source = asked.source AND e.external_id = asked.external_id
     WHERE e.tenant = %(tenant)s"""
# No key is changed, and a stronger lock would wait for whoever refers to the entry
# while they wait for its due work, which comes after it.
_LOCKED: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.content_hash, e.access_hash,
           e.entry_time, e.deleted_at IS NOT NULL AS deleted
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s)
     ORDER BY e.id
       FOR NO KEY UPDATE"""
_INSERT: LiteralString = """
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
        content_hash, access_hash, kind, origin, logbooks, authors, tags, shift, level,
        category, metadata, entry_time, event_time, reply_to, url, flags, text_flags,
        readers, visible_from)
    SELECT r.id, %(tenant)s, r.source, r.external_id, 1, 1,
           decode(r.content_hash, 'hex'), decode(r.access_hash, 'hex'), r.kind,
           r.origin, r.logbooks, r.authors, r.tags, r.shift, r.level, r.category,
           r.metadata, r.entry_time, r.event_time, r.reply_to, r.url, r.flags,
           r.text_flags, r.readers, r.visible_from
      FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (
        id uuid, source text, external_id text, content_hash text, access_hash text,
        kind text, origin text, logbooks text[], authors text[], tags text[],
        shift text, level text, category text, metadata jsonb, entry_time timestamptz,
        event_time timestamptz, reply_to text, url text, flags text[],
        text_flags text[], readers text[], visible_from timestamptz)
     ORDER BY r.source, r.external_id
        ON CONFLICT (tenant, source, external_id) DO NOTHING
    RETURNING id"""
_UPDATE: LiteralString = """
    UPDATE entry e
       SET revision = e.revision + r.step, doc_version = e.doc_version + 1,
           content_hash = decode(r.content_hash, 'hex'),
           access_hash = decode(r.access_hash, 'hex'), kind = r.kind,
           origin = r.origin, logbooks = r.logbooks, authors = r.authors,
           tags = r.tags, shift = r.shift, level = r.level, category = r.category,
           metadata = r.metadata, entry_time = r.entry_time,
           event_time = r.event_time, reply_to = r.reply_to, url = r.url,
           flags = r.flags, text_flags = r.text_flags, readers = r.readers,
           visible_from = r.visible_from, modified_at = now(), deleted_at = NULL,
           delete_reason = NULL
      FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (
        id uuid, step integer, content_hash text, access_hash text, kind text,
        origin text, logbooks text[], authors text[], tags text[], shift text,
        level text, category text, metadata jsonb, entry_time timestamptz,
        event_time timestamptz, reply_to text, url text, flags text[],
        text_flags text[], readers text[], visible_from timestamptz)
     WHERE e.id = r.id AND e.tenant = %(tenant)s"""
_REVISION: LiteralString = """
    INSERT INTO revision (entry_id, number, tenant, title, text, text_format, fields,
                          content_hash, editor)
    SELECT r.id, r.revision, %(tenant)s, r.title, r.text, r.text_format, r.fields,
           decode(r.content_hash, 'hex'), %(editor)s
      FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (
        id uuid, revision integer, title text, text text, text_format text,
        fields jsonb, content_hash text)
     ORDER BY r.id"""
_TOMBSTONE: LiteralString = """
    UPDATE entry
       SET deleted_at = now(), delete_reason = %(reason)s,
           doc_version = doc_version + 1, modified_at = now()
     WHERE id = %(entry_id)s AND tenant = %(tenant)s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of one draft."""

    entry_id: UUID
    source: str
    external_id: str
    revision: int
    status: Status


@dataclass(frozen=True, slots=True)
class _Stored:
    id: UUID
    source: str
    external_id: str
    revision: int
    content_hash: bytes
    access_hash: bytes
    entry_time: datetime
    deleted: bool


def save_page(
    conn: Connection[TupleRow],
    tenant: str,
    drafts: Sequence[EntryDraft],
    *,
    stages: Sequence[str],
    editor: str,
    work_class: int = due.LIVE,
) -> list[Saved]:
    """Store a page and make its stages due, in the order given; idempotent.

    The caller commits, then nudges. A draft that changes nothing writes nothing.
    """
    saved: list[Saved | None] = [None] * len(drafts)
    waiting = list(enumerate(drafts))
    while waiting:
        # The same identity twice in a page: the second draft edits the first.
        seen: set[tuple[str, str]] = set()
        turn: list[tuple[int, EntryDraft]] = []
        later: list[tuple[int, EntryDraft]] = []
        for place, draft in waiting:
            (later if draft.identity in seen else turn).append((place, draft))
            seen.add(draft.identity)
        results = _save_once(
            conn, tenant, [draft for _, draft in turn], stages, editor, work_class
        )
        for (place, _), result in zip(turn, results, strict=True):
            saved[place] = result
        waiting = later
    return [one for one in saved if one is not None]


def tombstone(
    conn: Connection[TupleRow],
    tenant: str,
    entry_id: UUID,
    *,
    reason: str | None,
    stages: Sequence[str],
) -> bool:
    """Delete an entry from every answer; the row stays. False if it was gone."""
    values = {"tenant": tenant, "entry_id": entry_id, "reason": reason}
    if conn.execute(_TOMBSTONE, values).rowcount == 0:
        return False
    due.add(conn, tenant, [entry_id], stages)
    return True


def _save_once(
    conn: Connection[TupleRow],
    tenant: str,
    drafts: Sequence[EntryDraft],
    stages: Sequence[str],
    editor: str,
    work_class: int,
) -> list[Saved]:
    now = datetime.now(UTC)
    stored = _known(conn, tenant, drafts)
    fresh = {
        draft.identity: draft.at(now)
        for draft in drafts
        if draft.identity not in stored
    }
    ids = _insert(conn, tenant, list(fresh.values()), editor)
    if len(ids) < len(fresh):
        # Somebody else made them between the look and the insert.
        stored |= _known(conn, tenant, [fresh[i] for i in fresh if i not in ids])
    edits = _edits(conn, tenant, drafts, stored, editor)
    due.add(conn, tenant, ids.values(), stages, work_class=work_class)
    for step, of_stages in ((1, stages), (0, [INDEX_STAGE])):
        moved = [stored[i].id for i, s in edits.items() if s == step]
        due.add(conn, tenant, moved, of_stages, work_class=work_class)
    results = []
    for draft in drafts:
        key = draft.identity
        if key in ids:
            results.append(Saved(ids[key], *key, 1, "created"))
            continue
        row, edit = stored[key], edits.get(key)
        status: Status = "unchanged" if edit is None else "updated"
        results.append(Saved(row.id, *key, row.revision + (edit or 0), status))
    return results


def _known(
    conn: Connection[TupleRow], tenant: str, drafts: Sequence[EntryDraft]
) -> dict[tuple[str, str], _Stored]:
    with conn.cursor(row_factory=class_row(_Stored)) as cur:
        found = cur.execute(
            _KNOWN,
            {
                "tenant": tenant,
                "sources": [draft.source for draft in drafts],
                "external_ids": [draft.external_id for draft in drafts],
            },
        ).fetchall()
    return {(row.source, row.external_id): row for row in found}


def _insert(
    conn: Connection[TupleRow], tenant: str, drafts: list[EntryDraft], editor: str
) -> dict[tuple[str, str], UUID]:
    if not drafts:
        return {}
    named = {uuid7(): draft for draft in drafts}
    rows = [{"id": str(key), **_row(draft)} for key, draft in named.items()]
    inserted = conn.execute(
        _INSERT, {"tenant": tenant, "rows": json.dumps(rows)}
    ).fetchall()
    made = {row[0]: named[row[0]] for row in inserted}
    _add_revisions(conn, tenant, [(key, 1, d) for key, d in made.items()], editor)
    return {draft.identity: key for key, draft in made.items()}


def _edits(
    conn: Connection[TupleRow],
    tenant: str,
    drafts: Sequence[EntryDraft],
    stored: dict[tuple[str, str], _Stored],
    editor: str,
) -> dict[tuple[str, str], int]:
    """Write what changed: 1 for a new revision, 0 where only the access changed."""
    changed = [
        draft
        for draft in drafts
        if draft.identity in stored and _step(draft, stored[draft.identity]) is not None
    ]
    if not changed:
        return {}
    with conn.cursor(row_factory=class_row(_Stored)) as cur:
        ids = [stored[draft.identity].id for draft in changed]
        locked = cur.execute(_LOCKED, {"tenant": tenant, "ids": ids}).fetchall()
    # Only now nobody else can change them: compare again.
    stored |= {(row.source, row.external_id): row for row in locked}
    steps: dict[tuple[str, str], int] = {}
    rows, revisions = [], []
    for draft in changed:
        row = stored[draft.identity]
        step = _step(draft, row)
        if step is None:
            continue
        whole = draft.at(row.entry_time)
        steps[draft.identity] = step
        rows.append({"id": str(row.id), "step": step, **_row(whole)})
        if step:
            revisions.append((row.id, row.revision + 1, whole))
    conn.execute(_UPDATE, {"tenant": tenant, "rows": json.dumps(rows)})
    _add_revisions(conn, tenant, revisions, editor)
    return steps


def _step(draft: EntryDraft, row: _Stored) -> int | None:
    whole = draft.at(row.entry_time)
    if row.deleted or whole.content_hash() != row.content_hash:
        return 1
    return None if whole.aside_hash() == row.access_hash else 0


def _add_revisions(
    conn: Connection[TupleRow],
    tenant: str,
    drafts: Sequence[tuple[UUID, int, EntryDraft]],
    editor: str,
) -> None:
    if not drafts:
        return
    rows = [
        {
            "id": str(entry_id),
            "revision": number,
            "title": draft.title,
            "text": draft.text,
            "text_format": draft.text_format,
            "fields": draft.fields(),
            "content_hash": draft.content_hash().hex(),
        }
        for entry_id, number, draft in drafts
    ]
    conn.execute(
        _REVISION, {"tenant": tenant, "editor": editor, "rows": json.dumps(rows)}
    )


def _row(draft: EntryDraft) -> dict[str, Any]:
    return {
        "source": draft.source,
        "external_id": draft.external_id,
        "content_hash": draft.content_hash().hex(),
        "access_hash": draft.aside_hash().hex(),
        "url": draft.url,
        "origin": draft.origin,
        "flags": list(draft.flags),
        "text_flags": list(draft.text_flags),
        "readers": None if draft.readers is None else list(draft.readers),
        "visible_from": draft.visible_from and draft.visible_from.isoformat(),
        **draft.fields(),
    }
