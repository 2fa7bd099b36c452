"""Entries as every route gives them: with what belongs to them, in one shape."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from fastapi import Response

from api.context import ApiContext
from api.entries.entry_amount import WHOLE, EntryAmount
from api.entries.schemas.entries import entry_out
from api.server.json_response import as_json
from shared.access.scope import Scope
from shared.embedding.vectors import live_models
from shared.entries import entry_links
from shared.entries.reading import (
    findings_shown,
    read_entries,
    readable_texts,
    revisions,
)
from shared.entries.reading.read_entries import EntryView
from shared.entries.saving import attachment_rows
from shared.errors import NotFoundError
from shared.postgres.pool import Connection
from shared.search.query.result_detail import BRIEF_CHARACTERS
from shared.sources import source_state

MAX_REVISION = 2**31 - 1
# What `answer` may answer instead of an entry, for the description of its routes.
NOT_CHANGED = {304: {"description": "Not changed since the revision named."}}
_TAG = re.compile(r'"r(\d{1,10})(?:\+[a-z_+]{1,200})?"', re.ASCII)


def bodies(
    ctx: ApiContext, conn: Connection, scope: Scope, entries: Sequence[EntryView]
) -> list[dict[str, Any]]:
    """Return the bodies of entries that the caller may read, in the same order."""
    ids = [entry.entry_id for entry in entries]
    linked = entry_links.load_links(conn, scope, ids) if ids else {}
    attached = attachment_rows.load_attachments(conn, scope.tenant, ids) if ids else {}
    known = live_models.list_stages(conn, ctx.settings) if entries else ()
    digests = findings_shown.digests(conn, scope.tenant, ids) if ids else {}
    parents = [(one.source, one.reply_to) for one in entries if one.reply_to]
    # What is hidden from the caller is named no more than what is not there.
    visible = entry_links.select_visible(conn, scope, parents)
    names = sorted({one.source for one in entries})
    sources = source_state.current_settings(conn, ctx.settings.sources, names)
    made = []
    for one in entries:
        entry = one
        if (one.source, one.reply_to) not in visible:
            entry = replace(one, reply_to=None)
        source = sources.get(entry.source)
        template = source.entry_url_template if source else None
        key = entry.entry_id
        made.append(
            entry_out(
                entry,
                known,
                template,
                linked.get(key, ()),
                attached.get(key, ()),
                digests.get((key, entry.revision), findings_shown.NO_DIGEST),
                source_removed=ctx.searches.context.is_removed(entry.source),
            )
        )
    return made


def make_readable(
    conn: Connection, scope: Scope, shown: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return bodies of a listing, their texts without the markup that they came in."""
    marked = [_name(one) for one in shown if one["text_format"] != "plain"]
    texts = readable_texts.load_readable_texts(conn, scope, marked, BRIEF_CHARACTERS)
    return [{**one, "text": texts.get(_name(one), one["text"])} for one in shown]


def _name(body: Mapping[str, Any]) -> tuple[UUID, int]:
    return UUID(body["entry_id"]), body["revision"]


def answer(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    entry: EntryView | None,
    revision: int | None,
    if_none_match: str | None,
    amount: EntryAmount = WHOLE,
) -> Response:
    """Answer with an entry, as it is or was; 304 if the caller has it already."""
    entry = read_entries.require_entry(entry)
    if revision is not None and revision != entry.revision:
        old = revisions.at(conn, scope.tenant, entry.entry_id, revision)
        if old is None:
            raise NotFoundError
        entry = revisions.as_it_was(entry, old)
    removed = ctx.searches.context.is_removed(entry.source)
    headers = {"ETag": tag_of(entry, source_removed=removed)}
    if {"*", headers["ETag"]}.intersection(_given(if_none_match)):
        return Response(status_code=304, headers=headers)
    shown, cut = amount.cut([entry])
    (body,) = bodies(ctx, conn, scope, shown)
    body["findings"] = findings_shown.load_findings(
        conn, scope.tenant, entry.entry_id, entry.revision
    )
    (body,) = amount.select([body])
    return as_json({**body, "cut": cut}, headers=headers)


def names(header: str | None, revision: int) -> bool:
    """Tell whether an If-Match header names this revision, with or without flags."""
    tags = [_TAG.fullmatch(one) for one in _given(header)]
    return "*" in _given(header) or any(
        found is not None and int(found[1]) == revision for found in tags
    )


def tag_of(entry: EntryView, *, source_removed: bool = False) -> str:
    """Return the ETag: it changes with the revision, its flags and its source's end."""
    removed = ["source_removed"] if source_removed else []
    return f'"{"+".join([f"r{entry.revision}", *entry.read_flags, *removed])}"'


def _given(header: str | None) -> list[str]:
    return [one.strip().removeprefix("W/") for one in (header or "").split(",")]
