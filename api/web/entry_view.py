"""One entry as it is shown: its text in sentences, its thread, its earlier states."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries.entry_amount import BRIEF
from api.entries.entry_bodies import answer, make_readable
from api.entries.routes import entries, threads
from api.entries.worded_findings import word_findings
from api.search.hit_amount import AskedAmount
from api.search.routes import similar
from api.web import rendering
from api.web.entry_text import Piece, Stretch, marked_pieces, split_text
from shared.access.scope import Scope
from shared.entries.reading import read_entries, readable_texts
from shared.entries.refs import REVISION
from shared.errors import LogchordError
from shared.postgres.pool import connection

# What changed is told of so many revisions; earlier ones are links.
_MOST_CHANGES = 10


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """An entry's body, as REST has it, and what is read out of it for the page."""

    body: dict[str, Any]
    title: Sequence[Piece]
    stretches: Sequence[Stretch]
    # Whether it is shown without marks that it was received with.
    is_plain: bool
    thread: dict[str, Any] | None
    revisions: list[dict[str, Any]]
    alike: list[dict[str, Any]]
    newest: int
    query: str
    findings: Sequence[tuple[str, str]]


def load_page(
    ctx: ApiContext,
    caller: CallerInfo,
    source: str,
    external_id: str,
    revision: int | None,
    query: str,
    *,
    with_similar: bool = False,
) -> EntryDetails:
    """Read an entry and what belongs to it, as REST answers each."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        found = read_entries.require_entry(
            read_entries.get_by_external_id(conn, scope, source, external_id)
        )
        response = answer(ctx, conn, scope, found, revision, None)
        body = rendering.body_of(response)
        name = (found.entry_id, body["revision"])
        texts = readable_texts.load_readable_texts(conn, scope, [name])
    text = texts.get(name, body["text"])
    facility = ctx.searches.facility
    language = body["language"]
    entry_id = found.entry_id
    thread = None
    if body["thread_id"]:
        told = rendering.body_of(threads.get_thread_of(entry_id, caller, ctx, BRIEF))
        thread = make_thread_readable(ctx, scope, told)
    earlier: list[dict[str, Any]] = []
    if found.revision > 1:
        listed = entries.list_revisions(entry_id, caller, ctx, _MOST_CHANGES)
        earlier = rendering.body_of(listed)["items"]
    alike = _similar(ctx, caller, entry_id) if with_similar else []
    return EntryDetails(
        body=body,
        title=marked_pieces(body["title"], query, language, facility),
        stretches=split_text(text, query, language, facility),
        is_plain=text == body["text"],
        thread=thread,
        revisions=earlier,
        alike=alike,
        newest=found.revision,
        query=query,
        findings=tuple(word_findings(body["findings"])),
    )


def make_thread_readable(
    ctx: ApiContext, scope: Scope, thread: dict[str, Any]
) -> dict[str, Any]:
    """Return a thread whose texts are without the markup that they came in."""
    with connection(ctx.pool) as conn:
        return {**thread, "entries": make_readable(conn, scope, thread["entries"])}


async def open_beside(
    ctx: ApiContext, caller: CallerInfo, place: str, query: str
) -> EntryDetails | None:
    """Return the entry that stands beside a list; one that is gone leaves it empty."""
    if "read" not in caller.scope.allowed and not caller.scope.is_admin:
        return None
    source, _, rest = place.partition("/")
    found = REVISION.search(rest)
    revision = int(found[1]) if found else None
    name = unquote(rest[: found.start()] if found else rest)
    try:
        return await asyncio.to_thread(
            load_page, ctx, caller, unquote(source), name, revision, query
        )
    except LogchordError:
        return None


def _similar(ctx: ApiContext, caller: CallerInfo, entry_id: UUID) -> list[Any]:
    found = similar.get_similar(entry_id, caller, ctx, AskedAmount({}), limit=5)
    results: list[Any] = rendering.body_of(found)["results"]
    return results
