"""What a shift should know of the time before it: its entries, in sections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from api.entries import shift_times
from shared.cards import carried_actions, incident, standing_locks
from shared.cards.carried_actions import CARRY_AFTER_SHIFTS, load_actions_left
from shared.cards.digest_entries import load_digest_entries, load_named_entries
from shared.cards.listed_incidents import INCIDENT_DAYS, IncidentPlace, load_incidents
from shared.cards.standing_locks import LOCK_DAYS, find_standing, load_lock_entries
from shared.entries.identity import permalink
from shared.settings.text_expectations import find_expectations
from shared.sources import source_state
from shared.text.facility.devices import DEVICE
from shared.times.rfc3339 import timestamp

if TYPE_CHECKING:
    from psycopg import Connection

    from api.context import ApiContext
    from shared.access.scope import Scope
    from shared.cards.carried_actions import CarriedAction
    from shared.cards.digest_entries import DigestEntry
    from shared.cards.standing_locks import StandingLock
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


class _Told(NamedTuple):
    """An entry in a section, and why it is there."""

    section: str
    entry_id: UUID
    state: State | None
    quote: str | None = None
    is_new: bool = True


class _Carried(NamedTuple):
    """Incidents, locks and requests that stand open, and stood when a time began."""

    incidents: tuple[list[IncidentPlace], dict[UUID, list[State]]]
    # Those that stand, those that stood, and whether all that tell of them were read.
    locks: tuple[list[StandingLock], list[StandingLock], bool]
    actions: list[tuple[CarriedAction, bool]]


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
    found = load_digest_entries(conn, scope, since, until, MOST_ENTRIES + 1)
    entries = found[:MOST_ENTRIES]
    key = json.dumps([scope.params, since], default=str)

    def find() -> _Carried:
        return _Carried(
            _load_incidents(ctx, conn, scope, entries, (until, since)),
            _load_locks(conn, scope, entries, (until, since)),
            _load_actions(ctx, conn, scope, since, until, clock),
        )

    carried: _Carried = ctx.carried.get(conn, scope.tenant, key, until, find)
    (places, states), (standing, stood, all_read), actions = carried
    locked = {one.entry_id for one in standing}
    told: list[_Told] = []
    for entry in entries:
        state = states.get(entry.entry_id, [None])[0]
        section = _KINDS.get(entry.kind) or _section(state)
        # What tells of a lock that hangs is listed there; others tell more than that.
        if section != "new" or entry.entry_id not in locked:
            told.append(_Told(section, entry.entry_id, state))
    left_open = [one for one in places if set(states[one.entry_id]) != {"resolved"}]
    newest = sorted(left_open[:_MOST_CARRIED], key=_TIME, reverse=True)
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
    known = {entry.entry_id: entry for entry in entries}
    others = {one.entry_id for one in told} - {*known}
    known |= {one.entry_id: one for one in load_named_entries(conn, scope, others)}
    sections: dict[str, list[dict[str, Any]]] = {name: [] for name in SECTIONS}
    for one in told:
        # An entry that was deleted this moment is told no more.
        if one.entry_id in known:
            sections[one.section].append(_item(known[one.entry_id], one))
    sections["devices"] = _devices(entries)
    return {
        "from": timestamp(since),
        "to": timestamp(until),
        "sections": sections,
        "complete": all_read
        and len(found) <= MOST_ENTRIES
        and len(left_open) <= _MOST_CARRIED
        and len(standing) <= _MOST_LOCKS
        and len(actions) <= _MOST_ACTIONS,
    }


def _section(state: State | None) -> str:
    if state is None:
        return "new"
    return "resolved" if state == "resolved" else "open"


def _load_incidents(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    entries: Sequence[DigestEntry],
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
    entries: Sequence[DigestEntry],
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


def _item(entry: DigestEntry, told: _Told) -> dict[str, Any]:
    """Return an entry as a digest cites it: in words of its own, and of a revision."""
    text = " ".join(entry.text.split())
    excerpt = text[:_EXCERPT_CHARS]
    return {
        "entry_id": str(entry.entry_id),
        "revision": entry.revision,
        "permalink": permalink(entry.source, entry.external_id),
        "source": entry.source,
        "title": entry.title,
        "authors": entry.authors,
        "entry_time": timestamp(entry.entry_time),
        "text": excerpt if excerpt == text else f"{excerpt.rsplit(' ', 1)[0]} …",
        "state": told.state,
        "quote": told.quote,
        "is_new": told.is_new,
    }


def _devices(entries: Sequence[DigestEntry]) -> list[dict[str, Any]]:
    """Return the devices that entries name, as the newest of them spells each."""
    named: dict[str, list[str]] = {}
    spelt: dict[str, str] = {}
    for entry in entries:
        own = {
            one["canonical"]: one["name"]
            for one in reversed(entry.entities)
            if one["kind"] == DEVICE
        }
        spelt = own | spelt
        for name in own:
            named.setdefault(name, []).append(str(entry.entry_id))
    ordered = sorted(named.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        {"device": spelt[name], "count": len(ids), "entry_ids": ids}
        for name, ids in ordered[:_MOST_DEVICES]
    ]
