"""The feed of changes, for programs that keep a copy."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import Annotated, Any, LiteralString, TypeVar
from uuid import UUID

from fastapi import Query, Response

from api.context import ApiContext, Caller, Ctx, needs
from api.entries.entry_amount import EntryAmount, ListAmount, count_fitting
from api.entries.entry_bodies import bodies
from api.entries.schemas.changes import ChangePage
from api.server import thread_pool
from api.server.json_response import as_json
from api.server.parameters import PageSize
from api.strict_route import audited, described, strict_router
from shared.access.cursors import Binding, Signer
from shared.access.scope import Scope
from shared.entries.identity import source_uri
from shared.entries.reading import change_feed, read_entries
from shared.entries.reading.change_feed import FeedPage, FeedPosition
from shared.postgres.pool import Connection, connection
from shared.times.rfc3339 import timestamp

router = strict_router("/v1/changes", "entries", needs("read"))

T = TypeVar("T")

_POLL_SECONDS = (0.1, 0.25, 0.5)
# A place behind an embargo is told whole, however many replies it has.
_AT_ONCE = 1000
# What concerns others is looked past within one request, up to here.
_LOOKS = 20
_ONE_SNAPSHOT: LiteralString = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
# Whoever keeps a copy may come back after years.
_FOREVER_SECONDS = 100 * 365 * 86_400.0


@router.get("")
@described("List what changed", ChangePage)
@audited("read")
async def list_changes(
    caller: Caller,
    ctx: Ctx,
    amount: ListAmount,
    after: Annotated[
        str | None, Query(description="A `next_after`; absent: from the start.")
    ] = None,
    limit: PageSize = 100,
    wait_ms: Annotated[
        int, Query(ge=0, le=30_000, description="Wait so long while there is nothing.")
    ] = 0,
) -> Response:
    """Each change once every older transaction has ended: none is ever missed."""
    feed = _Feed(ctx, caller.scope, limit, amount)
    place = await asyncio.to_thread(feed.open, after) if after else FeedPosition()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_ms / 1000
    pauses = chain(_POLL_SECONDS, repeat(_POLL_SECONDS[-1]))
    while True:
        items, cut, place = await thread_pool.run_step(feed.read, place)
        left = deadline - loop.time()
        if items or left <= 0:
            break
        await asyncio.sleep(min(next(pauses), left))
    next_after = await asyncio.to_thread(feed.close, place)
    return as_json({"items": items, "cut": cut, "next_after": next_after})


@dataclass(frozen=True, slots=True)
class _Feed:
    """The changes as one caller may see them."""

    ctx: ApiContext
    scope: Scope
    limit: int
    amount: EntryAmount

    @property
    def binding(self) -> Binding:
        """Bind places to the tenant: they show nothing, and keys are replaced."""
        return Binding("GET /v1/changes", self.scope.tenant, "", 0)

    def open(self, after: str) -> FeedPosition:
        """Return the place behind a `next_after`, or raise `bad_cursor`."""
        epoch, xid, entry_id, at = self._signer().open(after, self.binding)
        when = None if at is None else datetime.fromisoformat(at)
        return FeedPosition(epoch, xid, UUID(entry_id), when)

    def close(self, place: FeedPosition) -> str:
        """Return the `next_after` of a place."""
        at = None if place.at is None else place.at.isoformat()
        plain = [place.epoch, place.xid, str(place.entry_id), at]
        return self._signer().make(plain, self.binding)

    def read(
        self, place: FeedPosition
    ) -> tuple[list[dict[str, Any]], dict[str, int], FeedPosition]:
        """Return the next changes, each with its entry, what is cut, and their end."""
        whole = self.amount.detail == "full"
        with connection(self.ctx.pool) as conn:
            # One look at the entries and at their changes: an edit between the two
            # would tell a change of today with the text of tomorrow.
            conn.execute(_ONE_SNAPSHOT)
            told = self._next(conn, place)
            read = self._entries(conn, told)
            if whole and (most := _count_fitting(told, read)) < len(told.changes):
                told = self._next(conn, place, limit=most)
            if whole:
                read = self._entries(conn, told, whole=True)
            seen = [read[one.entry_id] for one in told.changes if one.entry_id in read]
            shown, cut = self.amount.cut(seen)
            found = [
                body
                for some in _slices(shown)
                for body in bodies(self.ctx, conn, self.scope, some)
            ]
        names = [body["entry_id"] for body in found]
        entries = dict(zip(names, self.amount.select(found), strict=True))
        tenant = self.scope.tenant
        items = [
            {
                "change": one.told_as,
                "entry_id": str(one.entry_id),
                "source_uri": source_uri(tenant, one.source, one.external_id),
                "revision": one.revision,
                "changed_at": timestamp(one.changed_at),
                "entry": entries.get(str(one.entry_id)),
            }
            for one in told.changes
        ]
        return items, cut, told.place

    def _next(
        self, conn: Connection, place: FeedPosition, limit: int | None = None
    ) -> FeedPage:
        for _ in range(_LOOKS):
            told = change_feed.list_changes(
                conn, self.scope, place, limit=limit or self.limit
            )
            place = told.place
            if told.changes or not told.more:
                break
        return told

    def _entries(
        self, conn: Connection, told: FeedPage, *, whole: bool = False
    ) -> dict[UUID, read_entries.EntryView]:
        wanted = [one.entry_id for one in told.changes if one.visible]
        read: dict[UUID, read_entries.EntryView] = {}
        for ids in _slices(wanted):
            read |= read_entries.load_entries(conn, self.scope, ids, whole=whole)
        return read

    def _signer(self) -> Signer:
        return Signer(self.ctx.secret(), _FOREVER_SECONDS)


def _slices(several: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(several), _AT_ONCE):
        yield several[start : start + _AT_ONCE]


def _count_fitting(told: FeedPage, read: Mapping[UUID, read_entries.EntryView]) -> int:
    """Return how many changes one answer holds with their whole texts; at least one."""
    entries = (read.get(one.entry_id) for one in told.changes)
    return count_fitting([one.text_chars if one else 0 for one in entries])
