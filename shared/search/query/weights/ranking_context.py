"""Adds to a plan what moves its hits: the things that the question names, and the day.

So do the page that asks, the last action there, and what the session asked before. All
of it is known before the search and kept in the plan, so that every ranking of the same
outcomes is alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.search.query import branch_choice, entities
from shared.search.query.entities import Entity
from shared.search.query.filters.fact_filters import WantedFact
from shared.search.query.ordering import BESIDE, CARRIED, NAMED, SCOPED, Ordering
from shared.search.query.plan import Plan
from shared.search.query.weights import page_context
from shared.search.query.weights.domain_weights import weigh_domains
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
        around = page_context.around(ambient, clock.now, facility)
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
    found = (Entity(DEVICE, one, facts.make_key(DEVICE, one)) for one in names)
    return _terms(found)


def _terms(found: Iterable[Entity]) -> list[str]:
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
