"""What a shift should know of the time before it: its entries, in sections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from api.entries import shift_times
from api.entries.entry_bodies import bodies, make_readable
from shared.cards import carried_actions, incident, standing_locks
from shared.cards.carried_actions import CARRY_AFTER_SHIFTS, load_actions_left
from shared.cards.listed_incidents import INCIDENT_DAYS, IncidentPlace, load_incidents
from shared.cards.standing_locks import LOCK_DAYS, find_standing, load_lock_entries
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import ListingFilter
from shared.search.query.filters import filters, time_range
from shared.settings.text_expectations import find_expectations
from shared.sources import source_state
from shared.times.rfc3339 import timestamp

if TYPE_CHECKING:
    from psycopg import Connection

    from api.context import ApiContext
    from shared.access.scope import Scope
    from shared.cards.carried_actions import CarriedAction
    from shared.cards.standing_locks import StandingLock
    from shared.entries.reading.read_entries import EntryView
    from shared.text.facility.incident_words import State
    from shared.times.calendar import Clock

SECTIONS = ("handover", "open", "resolved", "locks", "devices", "new")
_KINDS = {"shift_summary": "handover"}
# More than is read at the change of a shift.
MOST_ENTRIES = 200
# What is carried over is read in a minute, too.
_MOST_CARRIED, _MOST_ACTIONS, _MOST_DEVICES = 30, 20, 20
# A lock that is left out may be forgotten.
_MOST_LOCKS = 100
_EXCERPT_CHARS = 280
_TIME = attrgetter("entry_time")
_OF_ENTRY = (
    *("entry_id", "revision", "permalink", "source", "title", "authors", "entry_time"),
)


class _Told(NamedTuple):
    """An entry in a section, and why it is there."""

    section: str
    entry_id: UUID
    state: State | None
    quote: str | None = None
    is_new: bool = True


def build_digest(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    since: datetime,
    until: datetime,
    clock: Clock,
) -> dict[str, Any]:
    """Build the sections of a digest: entries of a time, and what is open from before.

    It is made of entries and times alone: asked twice of the same, it is the same. What
    is not new stood in the digest of when this time began.
    """
    found = _list_entries(ctx, conn, scope, since, until)
    entries = found[:MOST_ENTRIES]
    places, states = _load_incidents(ctx, conn, scope, entries, (until, since))
    standing, stood, all_read = _load_locks(conn, scope, entries, (until, since))
    actions = _load_actions(ctx, conn, scope, since, until, clock)
    locked = {one.entry_id for one in standing}
    told: list[_Told] = []
    for entry in entries:
        state = states.get(entry.entry_id, [None])[0]
        section = _KINDS.get(entry.kind) or _section(state)
        # What tells of a lock that hangs is listed there; others tell more than that.
        if section != "new" or entry.entry_id not in locked:
            told.append(_Told(section, entry.entry_id, state))
    carried = [one for one in places if set(states[one.entry_id]) != {"resolved"}]
    newest = sorted(carried[:_MOST_CARRIED], key=_TIME, reverse=True)
    for place in newest:
        state, before = states[place.entry_id]
        is_new = place.entry_time >= since or "resolved" in {state, before}
        told.append(_Told(_section(state), place.entry_id, state, is_new=is_new))
    for lock in standing[:_MOST_LOCKS]:
        is_new = lock not in stood
        told.append(_Told("locks", lock.entry_id, None, lock.quote, is_new=is_new))
    for action, is_new in actions[:_MOST_ACTIONS]:
        entry_id, quote = action.handover.entry_id, action.quote
        told.append(_Told("handover", entry_id, None, quote, is_new=is_new))
    shown = make_readable(conn, scope, bodies(ctx, conn, scope, entries))
    known = {UUID(body["entry_id"]): body for body in shown}
    known |= _load_bodies(ctx, conn, scope, {one.entry_id for one in told} - {*known})
    sections: dict[str, list[dict[str, Any]]] = {name: [] for name in SECTIONS}
    for one in told:
        # An entry that was deleted this moment is told no more.
        if one.entry_id in known:
            sections[one.section].append(_item(known[one.entry_id], one))
    sections["devices"] = _devices(shown)
    return {
        "from": timestamp(since),
        "to": timestamp(until),
        "sections": sections,
        "complete": all_read
        and len(found) <= MOST_ENTRIES
        and len(carried) <= _MOST_CARRIED
        and len(standing) <= _MOST_LOCKS
        and len(actions) <= _MOST_ACTIONS,
    }


def _list_entries(
    ctx: ApiContext, conn: Connection, scope: Scope, since: datetime, until: datetime
) -> list[EntryView]:
    narrowed = filters.parse(
        {time_range.FROM: since.isoformat(), time_range.TO: until.isoformat()},
        max_values=ctx.settings.max_filter_values,
        clock=ctx.searches.calendar,
    ).params
    wanted = ListingFilter(narrowed=narrowed)
    return read_entries.list_entries(conn, scope, wanted, limit=MOST_ENTRIES + 1)


def _section(state: State | None) -> str:
    if state is None:
        return "new"
    return "resolved" if state == "resolved" else "open"


def _load_incidents(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    entries: Sequence[EntryView],
    moments: tuple[datetime, datetime],
) -> tuple[list[IncidentPlace], dict[UUID, list[State]]]:
    """Return the incidents that are not among these entries, and how all of them stood.

    They are of before, or of a time with more entries than these.
    """
    until, since = moments
    ours = [
        IncidentPlace(one.entry_id, one.source, one.thread_id, one.entry_time)
        for one in entries
        if one.kind == "incident"
    ]
    listed = {one.thread for one in ours}
    earliest = min(since, until - timedelta(days=INCIDENT_DAYS))
    others = [
        one
        for one in load_incidents(conn, scope, earliest, until)
        if one.thread not in listed
    ]
    return others, load_states(ctx, conn, scope, [*ours, *others], moments)


def _load_locks(
    conn: Connection,
    scope: Scope,
    entries: Sequence[EntryView],
    moments: tuple[datetime, datetime],
) -> tuple[list[StandingLock], list[StandingLock], bool]:
    """Return the locks that stand, and stood; and whether all entries were read."""
    until, since = moments
    earliest = min(since, until - timedelta(days=LOCK_DAYS))
    ids = [one.entry_id for one in entries]
    telling = load_lock_entries(conn, scope, earliest, until, ids)
    standing, stood = find_standing(telling, since)
    return standing, stood, len(telling) < standing_locks.MOST_READ


def _load_actions(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    since: datetime,
    until: datetime,
    clock: Clock,
) -> list[tuple[CarriedAction, bool]]:
    """Return requests of handovers that nobody took up; true: they surface just now."""
    earliest = until - timedelta(days=carried_actions.ACTION_DAYS)
    surfaced = surfaces_before(clock, until)
    had_surfaced = surfaces_before(clock, since)
    written = (earliest, min(surfaced, since))
    facility = ctx.searches.facility
    left = load_actions_left(conn, scope, facility, written, until)
    return [(one, one.handover.entry_time >= had_surfaced) for one in left]


def surfaces_before(clock: Clock, moment: datetime) -> datetime:
    """Return the time before which requests were written that surface at a moment."""
    began = shift_times.begin_of_shift(
        replace(clock, now=moment), before=CARRY_AFTER_SHIFTS - 1
    )
    return began or moment


def load_states(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    incidents: Sequence[IncidentPlace],
    moments: Sequence[datetime],
) -> dict[UUID, list[State]]:
    """Return how incidents stood before each of some moments, by their entry."""
    names = sorted({one.source for one in incidents})
    sources = source_state.current_settings(conn, ctx.settings.sources, names)
    settings = ctx.settings.model_copy(update={"sources": sources})

    def zone_of(source: str) -> str:
        return find_expectations(settings, source, scope.tenant).zone

    threads = [*dict.fromkeys(one.thread for one in incidents)]
    own = ctx.searches.facility.incidents
    stood = incident.load_states(conn, scope, threads, moments, zone_of, own)
    return {one.entry_id: stood[one.thread] for one in incidents}


def _load_bodies(
    ctx: ApiContext, conn: Connection, scope: Scope, ids: Collection[UUID]
) -> dict[UUID, dict[str, Any]]:
    """Return readable bodies of entries from before, by their ids."""
    rows = read_entries.load_entries(conn, scope, sorted(ids)) if ids else {}
    made = bodies(ctx, conn, scope, [*rows.values()])
    return dict(zip(rows, make_readable(conn, scope, made), strict=True))


def _item(body: Mapping[str, Any], told: _Told) -> dict[str, Any]:
    """Return an entry as a digest cites it: in words of its own, and of a revision."""
    text = " ".join(str(body["summary"] or body["text"]).split())
    excerpt = text[:_EXCERPT_CHARS]
    return {
        **{name: body[name] for name in _OF_ENTRY},
        "text": excerpt if excerpt == text else f"{excerpt.rsplit(' ', 1)[0]} …",
        "state": told.state,
        "quote": told.quote,
        "is_new": told.is_new,
    }


def _devices(shown: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    named: dict[str, list[str]] = {}
    for body in shown:
        for name in dict.fromkeys(_device_names(body)):
            named.setdefault(name, []).append(body["entry_id"])
    ordered = sorted(named.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        {"device": name, "count": len(ids), "entry_ids": ids}
        for name, ids in ordered[:_MOST_DEVICES]
    ]


def _device_names(body: Mapping[str, Any]) -> Iterator[str]:
    for one in body["entities"]:
        if one["kind"] == "device":
            yield one["canonical"]
