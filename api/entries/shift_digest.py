"""What a shift should know of the time before it: its entries, in sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from api.entries.entry_bodies import bodies, make_readable
from shared.cards import earlier_incidents, incident
from shared.cards.earlier_incidents import IncidentPlace, load_earlier_incidents
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
    from shared.text.facility.incident_words import State

# More than is read at the change of a shift.
MOST_ENTRIES = 200
# What is carried over is read in a minute, too.
_MOST_CARRIED, _MOST_DEVICES = 30, 20
_LOCKS = re.compile(
    r"\bLOTO\b|\block(?:ed|s)?[- ]?out\b|\btag(?:ged)?[- ]?out\b", re.IGNORECASE
)
_EXCERPT_CHARS = 280
_OF_ENTRY = (
    *("entry_id", "revision", "permalink", "source", "title", "authors", "entry_time"),
)


def build_digest(
    ctx: ApiContext, conn: Connection, scope: Scope, since: datetime, until: datetime
) -> dict[str, Any]:
    """Build the sections of a digest: entries of a time, and what is open from before.

    It is made of entries and times alone: asked twice of the same, it is the same.
    """
    narrowed = filters.parse(
        {time_range.FROM: since.isoformat(), time_range.TO: until.isoformat()},
        max_values=ctx.settings.max_filter_values,
        clock=ctx.searches.calendar,
    ).params
    wanted = ListingFilter(narrowed=narrowed)
    found = read_entries.list_entries(conn, scope, wanted, limit=MOST_ENTRIES + 1)
    entries = found[:MOST_ENTRIES]
    ours = [
        IncidentPlace(one.entry_id, one.source, one.thread_id)
        for one in entries
        if one.kind == "incident"
    ]
    told = {one.thread for one in ours}
    earliest = until - timedelta(days=earlier_incidents.INCIDENT_DAYS)
    earlier = [
        one
        for one in load_earlier_incidents(conn, scope, earliest, since)
        if one.thread not in told
    ]
    states = load_states(ctx, conn, scope, [*ours, *earlier], (until, since))
    names = ("handover", "open", "resolved", "locks", "devices", "new")
    sections: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    shown = make_readable(conn, scope, bodies(ctx, conn, scope, entries))
    for entry, body in zip(entries, shown, strict=True):
        state = states[entry.entry_id][0] if entry.kind == "incident" else None
        item = _item(body, state)
        if entry.kind == "shift_summary":
            sections["handover"].append(item)
        elif state == "resolved":
            sections["resolved"].append(item)
        elif state is not None:
            sections["open"].append(item)
        elif _LOCKS.search(f"{entry.title}\n{entry.text}"):
            sections["locks"].append(item)
        else:
            sections["new"].append(item)
    carried = [one for one in earlier if set(states[one.entry_id]) != {"resolved"}]
    for body in _load_bodies(ctx, conn, scope, carried[:_MOST_CARRIED]):
        state, before = states[UUID(body["entry_id"])]
        item = _item(body, state, is_new="resolved" in {state, before})
        sections["resolved" if state == "resolved" else "open"].append(item)
    sections["devices"] = _devices(shown)
    return {
        "from": timestamp(since),
        "to": timestamp(until),
        "sections": sections,
        "complete": len(found) <= MOST_ENTRIES and len(carried) <= _MOST_CARRIED,
    }


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
    ctx: ApiContext, conn: Connection, scope: Scope, incidents: Sequence[IncidentPlace]
) -> list[dict[str, Any]]:
    """Return readable bodies of entries from before, the newest first."""
    ids = [one.entry_id for one in incidents]
    rows = read_entries.load_entries(conn, scope, ids) if ids else {}
    entries = sorted(
        rows.values(), key=lambda one: (one.entry_time, one.entry_id), reverse=True
    )
    return make_readable(conn, scope, bodies(ctx, conn, scope, entries))


def _item(
    body: Mapping[str, Any],
    state: str | None,
    *,
    is_new: bool = True,
    quote: str | None = None,
) -> dict[str, Any]:
    """Return an entry as a digest cites it: in words of its own, and of a revision."""
    text = " ".join(str(body["summary"] or body["text"]).split())
    excerpt = text[:_EXCERPT_CHARS]
    return {
        **{name: body[name] for name in _OF_ENTRY},
        "text": excerpt if excerpt == text else f"{excerpt.rsplit(' ', 1)[0]} …",
        "state": state,
        "is_new": is_new,
        "quote": quote,
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
