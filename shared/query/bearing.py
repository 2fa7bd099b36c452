"""What bears on the order of a question's hits: the things that it names, and the day.

Known before anything is searched, and kept in the plan: whoever ranks, and ranks again,
counts alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shared.query import branching, entities
from shared.query.entities import Entity
from shared.query.language.calendar import Clock
from shared.query.ordering import Ordering
from shared.query.plan import Plan
from shared.query.wanted import Wanted
from shared.text.analyser import IDENT_PREFIX
from shared.text.facility import Facility
from shared.text.facts import MARK, THINGS
from shared.text.things import DEVICE

NAMED, BESIDE = "named", "beside"
# What is named in other ways than by a name: a size, a person.
_NO_NAMES = frozenset({entities.PERSON, entities.QUANTITY})
# Of a question that names more, each of them says little.
MAX_TERMS = 64


def ordered(plan: Plan, facility: Facility, clock: Clock) -> Ordering:
    """Return how a plan's hits are put in order, with what its question says to it."""
    ordering = plan.ordering
    if plan.is_listing or not plan.branches:
        return ordering
    if ordering.half_lives and clock.today is not None:
        ordering = replace(ordering, day=clock.today.isoformat())
    # Of what words alone find, all has the names that are asked for.
    by_words = set(plan.searching) <= {*branching.KEYWORD_MODULES}
    if by_words or ordering.entity_factor == 1.0:
        return ordering
    return replace(ordering, near=_near(plan, facility))


def _near(plan: Plan, facility: Facility) -> dict[str, list[str]]:
    said = [one for one in entities.said(plan, facility) if one.kind not in _NO_NAMES]
    named = _terms(said)
    devices = (
        other
        for one in said
        if one.kind == DEVICE
        for other in facility.things.next_to(one.canonical)
    )
    beside = _terms(Entity(DEVICE, other, other) for other in devices)
    terms = {NAMED: named, BESIDE: [one for one in beside if one not in named]}
    return {how: found[:MAX_TERMS] for how, found in terms.items() if found}


def _terms(found: Iterable[Entity]) -> list[str]:
    """Return the terms that an entry has which names one of these."""
    terms: list[str] = []
    for one in found:
        if one.kind in THINGS:
            found_by = Wanted.terms(one.kind, (one.canonical,))
            terms += (MARK + term for term in found_by)
        else:
            terms += (one.canonical, IDENT_PREFIX + one.canonical)
    return list(dict.fromkeys(terms))
