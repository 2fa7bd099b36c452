"""Questions that are worth a click: newest entries suggest them, and answer them."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from api.search.unified_search import require_unified_search
from shared.errors import LogchordError
from shared.log import get_logger

if TYPE_CHECKING:
    from api.caller_info import CallerInfo
    from api.context import ApiContext
    from shared.access.scope import Scope

log = get_logger()

MOST_CHIPS, MOST_FOLLOW_UPS = 3, 2
_MOST_TRIED = 8
_BUCKET_SECONDS = 300
_THINGS = frozenset({"device", "system", "pv"})


async def find_chips(
    ctx: ApiContext, caller: CallerInfo, entries: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return up to three questions about these entries that have answers."""
    suggested = list(dict.fromkeys(suggest_questions(entries)))[:_MOST_TRIED]
    tried = rotate_questions(suggested, caller.scope, int(time.time()))
    return (await _find_viable(ctx, caller, tried))[:MOST_CHIPS]


async def _find_viable(
    ctx: ApiContext, caller: CallerInfo, tried: Sequence[str]
) -> list[str]:
    if not tried:
        return []
    scope = caller.scope
    try:
        await require_unified_search(caller, ctx)
        approved = await ctx.searches.glossaries.of(scope.tenant)
        found = await asyncio.to_thread(
            ctx.suggestions.evaluate, tried, scope, approved, {}, {}
        )
    except LogchordError as exc:
        # The newest entries are worth seeing without them.
        log.warning("chips_not_evaluated", code=exc.error_code)
        return []
    return [one.query for one in found if one.viable]


async def find_follow_ups(
    ctx: ApiContext, caller: CallerInfo, asked: str, body: Mapping[str, Any]
) -> list[str]:
    """Return up to two questions about what an answer is about that have answers."""
    named = [one["title"] for one in body["cards"] if one["type"] == "entity"]
    known = asked.strip().rstrip("?").casefold()
    # One of each thing: every question that is tried is a search.
    tried = [
        next(one for one in _questions_about(name) if one.casefold() != known)
        for name in named[:MOST_FOLLOW_UPS]
    ]
    return await _find_viable(ctx, caller, tried)


def rotate_questions(questions: Sequence[str], whose: Scope, at: int) -> list[str]:
    """Return them from one on: another one for each caller every five minutes.

    Whoever loads a page again is shown the same.
    """
    if not questions:
        return []
    seed = f"{whose.tenant} {whose.key_id or whose.subject} {at // _BUCKET_SECONDS}"
    first = zlib.crc32(seed.encode()) % len(questions)
    return [*questions[first:], *questions[:first]]


def suggest_questions(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield questions that newest entries suggest: of incidents, then of devices."""
    incidents = [one for one in entries if one["kind"] == "incident"]
    for one in incidents:
        for name in _names(one):
            yield f"when did {name} last trip"
            break
    for one in incidents:
        if one["title"]:
            yield one["title"]
    for one in entries:
        for name in _names(one):
            yield f"what happened with {name}"
            break


def _questions_about(name: str) -> Sequence[str]:
    return f"when did {name} last trip", f"what happened with {name}"


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    for one in entry["entities"]:
        if one["kind"] in _THINGS:
            yield one["name"]
