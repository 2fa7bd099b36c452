"""Questions that are worth a click: newest entries suggest them, and answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from api.search.unified_search import require_unified_search
from shared.errors import LogchordError
from shared.log import get_logger

if TYPE_CHECKING:
    from api.caller_info import CallerInfo
    from api.context import ApiContext

log = get_logger()

MOST_CHIPS = 3
_MOST_TRIED = 8
_THINGS = frozenset({"device", "system", "pv"})


async def find_chips(
    ctx: ApiContext, caller: CallerInfo, entries: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return up to three questions about these entries that have answers."""
    tried = list(dict.fromkeys(suggest_questions(entries)))[:_MOST_TRIED]
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
    return [one.query for one in found if one.viable][:MOST_CHIPS]


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


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    for one in entry["entities"]:
        if one["kind"] in _THINGS:
            yield one["name"]
