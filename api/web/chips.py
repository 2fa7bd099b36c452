"""Questions that are worth a click: newest entries suggest them, and answer them."""

import asyncio
import json
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries import shift_times
from api.entries.shift_digest import load_states
from api.search.unified_search import require_unified_search
from shared.access.scope import Scope
from shared.cards.listed_incidents import IncidentPlace
from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import connection

log = get_logger()

MOST_CHIPS, MOST_FOLLOW_UPS = 3, 2
_MOST_TRIED = 8
_MOST_CALLERS = 1000
_DAY = timedelta(days=1)
_BUCKET_SECONDS = 300
_THINGS = frozenset({"device", "system", "pv"})


class ChipCache:
    """Keeps the chips of each caller until their five minutes are over."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, list[str]]] = OrderedDict()

    async def find_chips(
        self, ctx: ApiContext, caller: CallerInfo, entries: Sequence[Mapping[str, Any]]
    ) -> list[str]:
        """Return up to three questions about these entries that have answers."""
        now = datetime.now(UTC)
        bucket = int(now.timestamp()) // _BUCKET_SECONDS
        key = json.dumps([caller.scope.params, caller.scope.key_id], default=str)
        of_bucket, kept = self._kept.get(key, (bucket, []))
        # An entry that was deleted since suggests nothing any more.
        if kept and of_bucket == bucket and {*kept} <= {*_everything_about(entries)}:
            return kept
        try:
            groups = await asyncio.to_thread(_suggest, ctx, caller, entries, now)
        except LogchordError as exc:
            # The newest entries are worth seeing without them.
            log.warning("chips_not_suggested", code=exc.error_code)
            return []
        at = int(now.timestamp())
        rotated = (rotate_questions(one, caller.scope, at) for one in groups)
        tried = [*dict.fromkeys(chain.from_iterable(rotated))][:_MOST_TRIED]
        found = (await _find_viable(ctx, caller, tried))[:MOST_CHIPS]
        # Where there are fewer, entries may still be on their way into the index.
        if len(found) == MOST_CHIPS:
            self._kept[key] = bucket, found
            if len(self._kept) > _MOST_CALLERS:
                self._kept.popitem(last=False)
        return found


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
    seed = f"{whose.tenant} {whose.caller} {at // _BUCKET_SECONDS}"
    first = zlib.crc32(seed.encode()) % len(questions)
    return [*questions[first:], *questions[:first]]


def _suggest(
    ctx: ApiContext,
    caller: CallerInfo,
    entries: Sequence[Mapping[str, Any]],
    now: datetime,
) -> list[list[str]]:
    """Read which incidents of this shift are open, and suggest questions."""
    shift = shift_times.begin_of_shift(ctx.searches.calendar)
    of_shift = [
        one
        for one in entries
        if one["kind"] == "incident" and shift is not None and _time_of(one) >= shift
    ]
    is_open: set[str] = set()
    if of_shift:
        named = [
            IncidentPlace(
                *(UUID(one["entry_id"]), one["source"], _uuid(one["thread_id"])),
                _time_of(one),
            )
            for one in of_shift
        ]
        with connection(ctx.pool) as conn:
            states = load_states(ctx, conn, caller.scope, named, (now,))
        is_open = {str(one) for one, stood in states.items() if stood != ["resolved"]}
    return suggest_questions(entries, is_open, now)


def suggest_questions(
    entries: Sequence[Mapping[str, Any]], is_open: Collection[str], now: datetime
) -> list[list[str]]:
    """Return questions in groups: of open incidents, of the last day, of the rest.

    `is_open`: the ids of this shift's incidents that are not resolved.
    """
    ours = [one for one in entries if one["entry_id"] in is_open]
    of_day = [one for one in entries if _time_of(one) >= now - _DAY]
    rest = [one for one in entries if one["kind"] == "incident"]
    return [
        [*_about_incidents(ours)],
        [*_about_devices(of_day)],
        [*_about_incidents(rest), *_about_devices(entries)],
    ]


def _everything_about(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from _about_incidents(entries)
    yield from _about_devices(entries)


def _about_incidents(incidents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in incidents:
        for name in _names(one):
            yield f"when did {name} last trip"
            break
    for one in incidents:
        if one["title"]:
            yield one["title"]


def _about_devices(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in entries:
        for name in _names(one):
            yield f"what happened with {name}"
            break


def _time_of(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["entry_time"])


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None


def _questions_about(name: str) -> Sequence[str]:
    return f"when did {name} last trip", f"what happened with {name}"


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    for one in entry["entities"]:
        if one["kind"] in _THINGS:
            yield one["name"]
