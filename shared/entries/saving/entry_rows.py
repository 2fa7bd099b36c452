"""The statements behind `save_page`: a page's rows, each table in one go."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared import entry_fields
from shared.entries.saving.change_detection import News, Step

_TYPED: LiteralString = ", ".join([name + " text" for name in entry_fields.NAMES])
# The fields of a draft, as both statements read them.
_FIELDS: LiteralString = f"""
        content_hash text, aside_hash text, kind text, origin text, logbooks text[],
        authors text[], tags text[], {_TYPED}, metadata jsonb,
        entry_time timestamptz, event_time timestamptz, reply_to text, thread_key text,
        language text, url text, flags text[], text_flags text[], readers text[],
        visible_from timestamptz, version text, modified_at timestamptz, stamp text,
        parsed_by integer"""
# The look at what was purged is part of the statement: the page holds the source's
# lock by now, and a purge takes it alone.
_INSERT: LiteralString = f"""
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
        content_hash, access_hash, kind, origin, logbooks, authors, tags,
        {entry_fields.columns()}, metadata, entry_time, event_time, reply_to,
        thread_key, language, url, flags, text_flags, readers, visible_from, version,
        source_modified_at, stamp, parsed_by)
    SELECT r.id, %(tenant)s, r.source, r.external_id, 1, 1,
           decode(r.content_hash, 'hex'), decode(r.aside_hash, 'hex'), r.kind,
           r.origin, r.logbooks, r.authors, r.tags,
           {entry_fields.columns("r.")}, r.metadata, r.entry_time, r.event_time,
           r.reply_to, r.thread_key, r.language, r.url, r.flags, r.text_flags,
           r.readers, r.visible_from, r.version, r.modified_at, r.stamp, r.parsed_by
      FROM json_to_recordset(%(rows)s::json) AS r (
        id uuid, source text, external_id text,{_FIELDS})
     WHERE NOT EXISTS (
           SELECT FROM purged p
            WHERE p.tenant = %(tenant)s AND p.source = r.source
              AND p.external_id = r.external_id)
     ORDER BY r.source, r.external_id
        ON CONFLICT (tenant, source, external_id) DO NOTHING
    RETURNING id"""
# Who could read it until now is kept where that changes; see the feed of changes.
# `-` is nobody: under an embargo, which the index may yet see end where the entry is
# closed by then; see `shared/search/retrieval/engines/revoked_entries.py`.
_UPDATE: LiteralString = (
    """
    UPDATE entry e
       SET revision = e.revision + r.step, doc_version = e.doc_version + 1,
           content_hash = decode(r.content_hash, 'hex'),
           access_hash = decode(r.aside_hash, 'hex'), kind = r.kind,
           origin = r.origin, logbooks = r.logbooks, authors = r.authors,
           tags = r.tags, """
    + ", ".join([name + " = r." + name for name in entry_fields.NAMES])
    + """, metadata = r.metadata, entry_time = r.entry_time,
           event_time = r.event_time, reply_to = r.reply_to,
           thread_key = r.thread_key, language = r.language, url = r.url,
           flags = r.flags, text_flags = r.text_flags, readers = r.readers,
           visible_from = r.visible_from, version = coalesce(r.version, e.version),
           source_modified_at = coalesce(r.modified_at, e.source_modified_at),
           stamp = coalesce(r.stamp, e.stamp),
           parsed_by = coalesce(r.parsed_by, e.parsed_by), missing_since = NULL,
           modified_at = now(), deleted_at = NULL, delete_reason = NULL,
           change = CASE WHEN (e.readers, e.visible_from)
                              IS DISTINCT FROM (r.readers, r.visible_from)
                         THEN 'access' ELSE 'edited' END,
           changed_xid = pg_current_xact_id(),
           past_readers = CASE
               WHEN (e.readers, e.visible_from, e.logbooks)
                    IS NOT DISTINCT FROM (r.readers, r.visible_from, r.logbooks)
                    THEN e.past_readers
               WHEN e.visible_from > now()
                    THEN ARRAY(SELECT DISTINCT one FROM unnest(
                               e.past_readers || '{-}') AS one ORDER BY one)
               ELSE ARRAY(SELECT DISTINCT one FROM unnest(
                          e.past_readers || coalesce(e.readers, '{*}')) AS one
                           ORDER BY one) END,
           past_logbooks = CASE
               WHEN (e.readers, e.visible_from, e.logbooks)
                    IS NOT DISTINCT FROM (r.readers, r.visible_from, r.logbooks)
                    OR e.visible_from > now() THEN e.past_logbooks
               ELSE ARRAY(SELECT DISTINCT one FROM unnest(
                          e.past_logbooks || e.logbooks) AS one
                           ORDER BY one) END
      FROM json_to_recordset(%(rows)s::json) AS r (
        id uuid, step integer,"""
    + _FIELDS
    + """)
     WHERE e.id = r.id AND e.tenant = %(tenant)s"""
)
_FACTS: LiteralString = """
    UPDATE entry e
       SET version = coalesce(r.version, e.version),
           source_modified_at = coalesce(r.modified_at, e.source_modified_at),
           stamp = coalesce(r.stamp, e.stamp),
           parsed_by = coalesce(r.parsed_by, e.parsed_by), missing_since = NULL
      FROM unnest(%(ids)s::uuid[], %(versions)s::text[], %(modified)s::timestamptz[],
                  %(stamps)s::text[], %(parsed)s::integer[])
           AS r (id, version, modified_at, stamp, parsed_by)
     WHERE e.id = r.id AND e.tenant = %(tenant)s"""
# By COPY, for nobody else can have made these rows.
_REVISION: LiteralString = """
    COPY revision (entry_id, number, tenant, title, text, text_format, fields,
                   content_hash, editor, plain) FROM STDIN"""

_OPTIONAL = (
    *(*entry_fields.NAMES, "reply_to", "thread_key", "language", "url"),
    *("readers", "version", "stamp", "parsed_by"),
)
_TIMES = ("entry_time", "event_time", "visible_from", "modified_at")


@dataclass(frozen=True, slots=True)
class Revised:
    """An entry's new revision."""

    entry_id: UUID
    number: int
    news: News


def insert(conn: Connection, tenant: str, named: Mapping[UUID, News]) -> set[UUID]:
    """Insert new entries that are not purged; return those that were inserted."""
    if not named:
        return set()
    rows = [{"id": str(key), **_row(news)} for key, news in named.items()]
    values = {"tenant": tenant, "rows": json.dumps(rows)}
    return {row[0] for row in conn.execute(_INSERT, values)}


def update(
    conn: Connection, tenant: str, changed: Sequence[tuple[UUID, Step, News]]
) -> None:
    """Update the rows of edited entries; the rows are locked already."""
    if not changed:
        return
    rows = [
        {"id": str(key), "step": int(step is Step.REVISION), **_row(news)}
        for key, step, news in changed
    ]
    conn.execute(_UPDATE, {"tenant": tenant, "rows": json.dumps(rows)})


def update_source_fields(
    conn: Connection, tenant: str, seen: Sequence[tuple[UUID, News]]
) -> None:
    """Write what only the source's own account has changed: no work, no revision."""
    if not seen:
        return
    drafts = [news.draft for _, news in seen]
    conn.execute(
        _FACTS,
        {
            "tenant": tenant,
            "ids": [key for key, _ in seen],
            "versions": [draft.version for draft in drafts],
            "modified": [draft.modified_at for draft in drafts],
            "stamps": [draft.stamp for draft in drafts],
            "parsed": [draft.parsed_by for draft in drafts],
        },
    )


def add_revisions(
    conn: Connection, tenant: str, revised: Sequence[Revised], editor: str
) -> None:
    """Write new revisions, and the text that is read where theirs has markup."""
    if not revised:
        return
    with conn.cursor().copy(_REVISION) as copy:
        for one in sorted(revised, key=lambda one: one.entry_id):
            draft, news = one.news.draft, one.news
            copy.write_row(
                (
                    str(one.entry_id),
                    str(one.number),
                    tenant,
                    draft.title,
                    draft.text,
                    draft.text_format,
                    news.fields,
                    rf"\x{news.content_hash.hex()}",
                    draft.editor or editor,
                    None if (plain := draft.plain()) == draft.text else plain,
                )
            )


def _row(news: News) -> dict[str, Any]:
    """Return the columns of a row; what is absent is null, and costs nothing."""
    draft = news.draft
    row = {
        "source": draft.source,
        "external_id": draft.external_id,
        "content_hash": news.content_hash.hex(),
        "aside_hash": news.aside_hash.hex(),
        "kind": draft.kind,
        "origin": draft.origin,
        "logbooks": draft.logbooks,
        "authors": draft.authors,
        "tags": draft.tags,
        "metadata": draft.metadata,
        "flags": draft.flags,
        "text_flags": draft.text_flags,
    }
    row |= {
        name: value for name in _OPTIONAL if (value := getattr(draft, name)) is not None
    }
    row |= {
        name: value.isoformat()
        for name in _TIMES
        if (value := getattr(draft, name)) is not None
    }
    return row
