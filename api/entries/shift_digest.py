"""What a shift should know of the time before it: its entries, in sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from api.entries.entry_bodies import bodies, make_readable
from shared.cards import incident
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

# More than is read at the change of a shift.
MOST_ENTRIES = 200
_MOST_INCIDENTS, _MOST_DEVICES = 30, 20
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
    """Return the entries of a time in sections, each with where it is from."""
    narrowed = filters.parse(
        {time_range.FROM: since.isoformat(), time_range.TO: until.isoformat()},
        max_values=ctx.settings.max_filter_values,
        clock=ctx.searches.calendar,
    ).params
    wanted = ListingFilter(narrowed=narrowed)
    found = read_entries.list_entries(conn, scope, wanted, limit=MOST_ENTRIES + 1)
    entries = found[:MOST_ENTRIES]
    shown = make_readable(conn, scope, bodies(ctx, conn, scope, entries))
    incidents = [one for one in entries if one.kind == "incident"]
    named = [(one.source, one.thread_id, one.entry_id) for one in incidents]
    states = load_states(ctx, conn, scope, named)
    names = ("handover", "open", "resolved", "locks", "devices", "new")
    sections: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for entry, body in zip(entries, shown, strict=True):
        state = states.get(entry.entry_id)
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
    sections["devices"] = _devices(shown)
    return {
        "from": timestamp(since),
        "to": timestamp(until),
        "sections": sections,
        "complete": len(found) <= MOST_ENTRIES,
    }


def load_states(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    incidents: Sequence[tuple[str, UUID | None, UUID]],
) -> dict[UUID, str]:
    """Return how incidents stand, by entry; a thread is read once.

    Each is given by its source, its thread if it is in one, and its entry.
    """
    incidents = incidents[:_MOST_INCIDENTS]
    names = sorted({source for source, _, _ in incidents})
    sources = source_state.current_settings(conn, ctx.settings.sources, names)
    settings = ctx.settings.model_copy(update={"sources": sources})

    def zone_of(source: str) -> str:
        return find_expectations(settings, source, scope.tenant).zone

    states: dict[UUID, str] = {}
    told: dict[UUID, str] = {}
    for _, thread_id, entry_id in incidents:
        thread = thread_id or entry_id
        if thread not in told:
            told[thread] = incident.of_thread(
                *(conn, scope, thread_id, entry_id, zone_of),
                ctx.searches.facility.incidents,
            ).state
        states[entry_id] = told[thread]
    return states


def _item(body: Mapping[str, Any], state: str | None) -> dict[str, Any]:
    """Return an entry as a digest cites it: in words of its own, and of a revision."""
    text = " ".join(str(body["summary"] or body["text"]).split())
    excerpt = text[:_EXCERPT_CHARS]
    return {
        **{name: body[name] for name in _OF_ENTRY},
        "text": excerpt if excerpt == text else f"{excerpt.rsplit(' ', 1)[0]} …",
        "state": state,
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
