"""Adds to a plan what moves its hits: the things that the question names, and the day.

So do the page that asks, the last action there, and what the session asked before. All
of it is known before the search and kept in the plan, so that every ranking of the same
outcomes is alike.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from shared.search.query import branch_choice, entities
from shared.search.query.entities import NamedEntity
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.intent import Intent
from shared.search.query.ordering import BESIDE, CARRIED, NAMED, SCOPED, Ordering
from shared.search.query.plan import Plan
from shared.text import facts
from shared.text.analysis.analyser import IDENT_PREFIX
from shared.text.facility.devices import DEVICE
from shared.text.facility.facility import Facility
from shared.text.facts import MARK, THINGS
from shared.times.calendar import Clock

# Kinds of things that have no name as a term: a size, a person, a place.
_NO_NAMES = frozenset(
    {
        *(entities.PERSON, entities.QUANTITY, entities.ENTRY),
        *(entities.SOURCE, entities.THREAD),
    }
)
# Where a question names more things, each of them says little.
MAX_TERMS = 64
# The words that ask for entries of a kind.
_ASKED: Mapping[str, re.Pattern[str]] = {
    "shift_summary": re.compile(
        r"\b(?:shift summar(?:y|ies)|handovers?|\u00fcbergaben?|schichtberichte?)\b"
    ),
    "procedure": re.compile(
        r"\b(?:procedures?|instructions?|how (?:do|to|can)|anleitung(?:en)?|prozedur)\b"
    ),
    "maintenance": re.compile(
        r"\b(?:maintenance|work orders?|wartung(?:en)?|reparaturauftr[a\u00e4]ge?)\b"
    ),
    "incident": re.compile(r"\b(?:incidents?|outages?|st\u00f6rung(?:en)?)\b"),
    "attachment": re.compile(
        r"\b(?:attachments?|pictures?|photos?|plots?|bild(?:er)?)\b"
    ),
}
# The kinds of entries that most likely answer a question of an intent.
_FIT: Mapping[Intent, tuple[str, ...]] = {
    "troubleshoot": ("incident", "maintenance"),
    "timeline": ("incident", "shift_summary"),
    "recent": ("shift_summary", "logbook"),
    "count": ("incident",),
}
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


def add_ranking_context(
    plan: Plan, facility: Facility, clock: Clock, ambient: Mapping[str, Any]
) -> Ordering:
    """Return the ordering of a plan with the weights and names that move its hits."""
    ordering = plan.ordering
    if plan.is_listing or not plan.branches:
        return ordering
    weights = weigh_domains(ordering, plan.query, plan.intent, plan.scope.groups)
    ordering = replace(ordering, domain_weights=weights)
    if ordering.half_lives and clock.today is not None:
        ordering = replace(ordering, day=clock.today.isoformat())
    near = {SCOPED: list_device_terms(ordering.scope.get("devices", ()))}
    # All hits of a search by words alone have the names that are asked for.
    by_words = set(plan.searching) <= {*branch_choice.KEYWORD_MODULES}
    if not by_words and ordering.entity_factor != 1.0:
        near |= find_near(plan, facility)
    if ambient and ordering.session_factor != 1.0:
        around = read_ambient(ambient, clock.now, facility)
        near[CARRIED] = _terms(around.named)
        ordering = replace(ordering, places=around.places)
    return replace(ordering, near=_bounded(near))


def carried(ordering: Ordering, terms: Sequence[str]) -> Ordering:
    """Return the ordering with the terms that a session asked for before."""
    known = ordering.near.get(CARRIED, ())
    near = {**ordering.near, CARRIED: [*dict.fromkeys((*known, *terms))]}
    return replace(ordering, near=_bounded(near))


def carries(plan: Plan, facility: Facility) -> list[str]:
    """Return the terms that the next question of a session inherits from this one."""
    return _terms(entities.find_entities(plan, facility))[:MAX_TERMS]


def find_near(plan: Plan, facility: Facility) -> dict[str, list[str]]:
    """Return the terms of the things that a question names, and of devices beside."""
    said = [*entities.find_entities_in_words(plan, facility)]
    devices = (
        other
        for one in said
        if one.kind == DEVICE
        for other in facility.things.next_to(one.canonical)
    )
    return {NAMED: _terms(said), BESIDE: list_device_terms(devices)}


def _bounded(near: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Keep a bounded number of terms of each way, none in a way and in `named` both."""
    named = near.get(NAMED, ())
    found = {
        how: [one for one in terms if how in {NAMED, SCOPED} or one not in named]
        for how, terms in near.items()
    }
    return {how: terms[:MAX_TERMS] for how, terms in found.items() if terms}


def list_device_terms(names: Iterable[str]) -> list[str]:
    """Return the terms of which an entry has one if it names one of these devices."""
    found = (NamedEntity(DEVICE, one, facts.make_key(DEVICE, one)) for one in names)
    return _terms(found)


def _terms(found: Iterable[NamedEntity]) -> list[str]:
    """Return the terms of which an entry has one if it names one of these things."""
    terms: list[str] = []
    for one in found:
        if one.kind in _NO_NAMES:
            continue
        if one.kind in THINGS:
            found_by = WantedFact.terms(one.kind, (one.canonical,))
            terms += (MARK + term for term in found_by)
        else:
            terms += (one.canonical, IDENT_PREFIX + one.canonical)
    return list(dict.fromkeys(terms))


@dataclass(frozen=True, slots=True)
class Around:
    """The names that surround a question, and the places that it is asked in."""

    named: tuple[NamedEntity, ...] = ()
    # Names of places by `kinds`, `sources` and `logbooks`, the parts of a scope.
    places: Mapping[str, list[str]] = field(default_factory=dict)


def read_ambient(
    ambient: Mapping[str, Any], now: datetime | None, own: Facility
) -> Around:
    """Return the names and places of an ambient, none of which is ever a filter.

    An old last action does not count.
    """
    done = ambient.get("last_action") or {}
    if not is_fresh(done.get("occurred_at"), now):
        done = {}
    found: dict[NamedEntity, None] = {}
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


def _named(name: str, value: str, own: Facility) -> Iterator[NamedEntity]:
    kind = _THINGS.get(name)
    if kind is None:
        yield from entities.in_text(value, own)
    else:
        yield NamedEntity(kind, value, facts.make_key(kind, value))


def weigh_domains(
    ordering: Ordering, query: str, intent: Intent, groups: Sequence[str]
) -> dict[str, float]:
    """Return the weight of each kind that counts more or less than others.

    Each factor weighs one reason: the question names the kind, its intent fits, or the
    caller's groups have it. As shipped all of them are 1.
    """
    text = query.casefold()
    asked = [kind for kind, words in _ASKED.items() if words.search(text)]
    own = [kind for group in groups for kind in ordering.role_domains.get(group, ())]
    weights = dict(ordering.domain_weights)
    for factor, kinds in (
        (ordering.domain_factor, asked),
        (ordering.intent_factor, _FIT.get(intent, ())),
        (ordering.role_factor, dict.fromkeys(own)),
    ):
        if factor != 1.0:
            for kind in kinds:
                weights[kind] = weights.get(kind, 1.0) * factor
    return weights
