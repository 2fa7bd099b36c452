"""Questions that are worth a click: each has been asked, and is answered."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from api.search.schemas.search import SearchRequest
from shared.errors import LogchordError
from shared.log import get_logger

if TYPE_CHECKING:
    from api.caller_info import CallerInfo
    from api.context import ApiContext

log = get_logger()

MOST_CHIPS = 3
_MOST_TRIED = 8
_KEPT_SECONDS = 300
_DEADLINE_MS = 1500
_MOST_CALLERS = 256
_THINGS = frozenset({"device", "system", "pv"})


@dataclass(slots=True)
class Chips:
    """What was found to be answered, by who asks, for five minutes."""

    _kept: dict[str, tuple[float, list[str]]] = field(default_factory=dict)

    async def of(
        self, ctx: ApiContext, caller: CallerInfo, entries: Sequence[Mapping[str, Any]]
    ) -> list[str]:
        """Return up to three questions about these entries that have answers."""
        who = json.dumps(caller.scope.params, sort_keys=True, default=str)
        until, found = self._kept.get(who, (0.0, []))
        if time.monotonic() < until:
            return found
        tried = list(dict.fromkeys(candidates(entries)))[:_MOST_TRIED]
        verdicts = await asyncio.gather(*(_is_viable(ctx, caller, q) for q in tried))
        chosen = [q for q, viable in zip(tried, verdicts, strict=True) if viable]
        if len(self._kept) >= _MOST_CALLERS:
            self._kept.clear()
        self._kept[who] = (time.monotonic() + _KEPT_SECONDS, chosen[:MOST_CHIPS])
        return chosen[:MOST_CHIPS]


def candidates(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
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


async def _is_viable(ctx: ApiContext, caller: CallerInfo, query: str) -> bool:
    """Tell whether a question is answered by what the caller may see."""
    request = SearchRequest(query=query, limit=5, deadline_ms=_DEADLINE_MS)
    try:
        plan = ctx.searches.plan(request.question(None), caller.scope)
        asked = replace(caller, arrived=time.monotonic())
        reply = await ctx.searches.ask(plan, asked, None)
    except LogchordError as exc:
        log.info("chip_not_tried", code=exc.error_code)
        return False
    assert isinstance(reply, str)
    said = json.loads(reply)["context_answer"]
    return bool(said and said["status"] == "grounded")
