"""Threads: an entry, what it answers and what answers it."""

import json
from typing import Any
from uuid import UUID

from fastapi import Response

from api.context import ApiContext, Caller, Ctx, needs
from api.entries.entry_amount import EntryAmount, ListAmount, count_fitting
from api.entries.entry_bodies import bodies
from api.entries.schemas.threads import ThreadOut
from api.strict_route import audited, described, strict_router
from shared.access.scope import Scope
from shared.cards import incident
from shared.cards.thread_tree import Node, tree
from shared.entries import entry_links
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import EntryView
from shared.errors import NotFoundError
from shared.postgres.pool import Connection, connection
from shared.settings.text_expectations import find_expectations
from shared.sources import source_state
from shared.times.rfc3339 import timestamp

router = strict_router("/v1", "entries", needs("read"))

MAX_ENTRIES = 1000


@router.get("/entries/{entry_id}/thread")
@described("Read the thread of an entry", ThreadOut, 404, 410)
@audited("read")
def get_thread_of(
    entry_id: UUID, caller: Caller, ctx: Ctx, amount: ListAmount
) -> Response:
    """Its members that the caller may see, oldest first; an entry alone is one.

    Beside them, how things stand and the steps of the incident, as their texts say.
    """
    with connection(ctx.pool) as conn:
        entry = read_entries.load_present_entry(conn, caller.scope, entry_id)
        found = _members(conn, caller.scope, entry_id) or [entry]
        return _answer(ctx, conn, caller.scope, found, amount)


@router.get("/threads/{thread_id}")
@described("Read a thread", ThreadOut, 404)
@audited("read")
def get_thread(
    thread_id: UUID, caller: Caller, ctx: Ctx, amount: ListAmount
) -> Response:
    """Its members that the caller may see, oldest first, with state and timeline.

    Each of its entries names it, and by its own id an entry that stands alone is one.
    """
    with connection(ctx.pool) as conn:
        found = _members(conn, caller.scope, thread_id)
        if not found:
            raise NotFoundError
        return _answer(ctx, conn, caller.scope, found, amount)


def _members(conn: Connection, scope: Scope, thread_id: UUID) -> list[EntryView]:
    return read_entries.of_thread(conn, scope, thread_id, limit=MAX_ENTRIES + 1)


def _answer(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    found: list[EntryView],
    amount: EntryAmount,
) -> Response:
    entries, thread_id = found[:MAX_ENTRIES], found[0].thread_id
    texts = {}
    if amount.detail == "full":
        most = count_fitting([one.text_chars for one in entries])
        # Those behind the most that one answer holds stay cut, and `cut` says so.
        ids = [one.entry_id for one in entries[:most]]
        texts = read_entries.load_entries(conn, scope, ids, whole=True)
    told_of, cut = amount.cut(texts.get(one.entry_id, one) for one in entries)
    shown = bodies(ctx, conn, scope, told_of)
    replaced = entry_links.replaced(conn, scope, thread_id) if thread_id else {}
    sources = source_state.current_settings(
        conn, ctx.settings.sources, sorted({one.source for one in entries})
    )
    settings = ctx.settings.model_copy(update={"sources": sources})
    told = incident.of_thread(
        *(conn, scope, thread_id or entries[0].entry_id),
        lambda source: find_expectations(settings, source, scope.tenant).zone,
        ctx.searches.facility.incidents,
    )
    body = {
        "thread_id": str(thread_id) if thread_id else None,
        "title": next((one.title for one in entries if one.title), ""),
        "state": told.state,
        "entries": amount.select(shown),
        "cut": cut,
        "tree": _with_links(tree(entries, replaced), shown),
        "timeline": [
            {**step._asdict(), "time": timestamp(step.time)} for step in told.timeline
        ],
        "timeline_complete": told.is_complete,
        "complete": len(found) <= MAX_ENTRIES,
    }
    return Response(json.dumps(body, default=str), media_type="application/json")


def _with_links(nodes: list[Node], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tree; what else an entry names is said beside its place."""
    named = {
        one["entry_id"]: [link for link in one["links"] if link["kind"] != "reply"]
        for one in shown
    }
    return [{**one._asdict(), "links": named[str(one.entry_id)]} for one in nodes]
