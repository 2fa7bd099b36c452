"""Reads what surrounds a question: the page that it is asked on, and the last action.

No I/O, and nothing of it is ever a filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from shared.search.query import entities
from shared.search.query.entities import Entity
from shared.text import facts
from shared.text.facility.facility import Facility

# An action longer ago has nothing to do with the question.
LASTS = timedelta(minutes=15)
# Names of parts and parameters of an address, by the part of a scope that they give.
_PLACES = {
    "kind": "kinds",
    "kinds": "kinds",
    "domain": "kinds",
    "source": "sources",
    "sources": "sources",
    "e": "sources",
    "logbook": "logbooks",
    "logbooks": "logbooks",
}
_THINGS = {name + end: name for name in facts.THINGS for end in ("", "s")}
_MOST_PARTS = 50
_KEY = re.compile(r"(?P<kind>[a-z]{1,20})[:/=](?P<name>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Around:
    """The names that surround a question, and the places that it is asked in."""

    named: tuple[Entity, ...] = ()
    # Names of places by `kinds`, `sources` and `logbooks`, the parts of a scope.
    places: Mapping[str, list[str]] = field(default_factory=dict)


def around(ambient: Mapping[str, Any], now: datetime | None, own: Facility) -> Around:
    """Return the names and places of an ambient; an old last action does not count."""
    done = ambient.get("last_action") or {}
    if not is_fresh(done.get("occurred_at"), now):
        done = {}
    found: dict[Entity, None] = {}
    places: dict[str, dict[str, None]] = {}
    for address in (ambient.get("route"), done.get("route")):
        for name, value in _parts(address or ""):
            if name in _PLACES:
                places.setdefault(_PLACES[name], {})[value] = None
            found |= dict.fromkeys(_named(name, value, own))
    if done.get("domain"):
        places.setdefault("kinds", {})[done["domain"]] = None
    for text in (done.get("query_hint"), done.get("entity_key")):
        keyed = _KEY.fullmatch(text or "")
        if keyed is not None and keyed["kind"] in _THINGS:
            found |= dict.fromkeys(_named(keyed["kind"], keyed["name"], own))
        else:
            found |= dict.fromkeys(entities.in_text(text or "", own))
    return Around((*found,), {part: [*names] for part, names in places.items()})


def is_fresh(at: str | None, now: datetime | None) -> bool:
    """Tell whether an action is recent; one without a time was done just now."""
    if at is None or now is None:
        return True
    return now - datetime.fromisoformat(at) <= LASTS


def _parts(address: str) -> Iterator[tuple[str, str]]:
    """Yield each part of an address with the name before it, or none."""
    try:
        split = urlsplit(address)
        asked = parse_qsl(split.query, max_num_fields=_MOST_PARTS)
    except ValueError:
        return
    path = ["", *filter(None, map(unquote, split.path.split("/")))][:_MOST_PARTS]
    yield from ((name.casefold(), value) for name, value in pairwise(path))
    yield from ((name.casefold(), value) for name, value in asked)


def _named(name: str, value: str, own: Facility) -> Iterator[Entity]:
    kind = _THINGS.get(name)
    if kind is None:
        yield from entities.in_text(value, own)
    else:
        yield Entity(kind, value, facts.make_key(kind, value))
