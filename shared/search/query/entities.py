"""Finds what a question names: devices, people, sources, quantities, entries; no I/O.

It uses the patterns and lists by which texts are read, never the stored entries: it
tells nothing beyond the reader's own words and the facility's lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from shared.search.query import name_query
from shared.search.query.filters.fact_filters import QuantityBounds
from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import Field, Pattern
from shared.search.query.plan import Plan
from shared.text import facts
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility
from shared.text.reading import quantities
from shared.text.reading.quantities import UNIT_OF
from shared.text.words.identifiers import normalise_hyphens
from shared.vocabulary.expand import UNSTEMMED

ENTRY, PERSON, QUANTITY = "entry", "person", "quantity"
SOURCE, THREAD = "source", "thread"
# Nobody's name has more words.
_NAME_WORDS = 4
_WORD = re.compile(r"[^\s,;:!?()]+")


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """One named thing, as it is written and as it is compared."""

    kind: str
    name: str
    canonical: str
    # Where it begins in the question; None: it stands in a field or a filter.
    start: int | None = None
    end: int | None = None


def describe_entities(plan: Plan, facility: Facility) -> list[dict[str, object]]:
    """Describe the things that the question of a plan names, each once in a place."""
    found = [
        *find_entities_in_words(plan, facility),
        *_numbered(plan),
        *find_filtered_entities(plan),
    ]
    return [asdict(one) for one in dict.fromkeys(found)]


def find_entities(plan: Plan, facility: Facility) -> Iterator[NamedEntity]:
    """Yield the things that a question's words, fields and filters name."""
    yield from find_entities_in_words(plan, facility)
    yield from find_filtered_entities(plan)


def find_entities_in_words(plan: Plan, facility: Facility) -> Iterator[NamedEntity]:
    """Yield the things that a question's words name; excluded words do not count."""
    query = normalise_hyphens(plan.query)
    for node in name_query.wanted_words(plan.tree):
        if isinstance(node, Pattern):
            # The words that a pattern stands for are looked up by the search alone.
            continue
        for begin, _, one in sorted(_in_text(node.text, facility)):
            # The tree has one blank where the text may have several.
            at = query.find(one.name, node.start + begin)
            place = (at, at + len(one.name)) if at >= 0 else (None, None)
            yield NamedEntity(one.kind, one.name, one.canonical, *place)


def find_filtered_entities(plan: Plan) -> Iterator[NamedEntity]:
    """Yield the things that fields and filters ask for; excluded ones do not count."""
    yield from _of_filters(plan.filters)
    for leaf in tree.affirmed(plan.tree):
        if isinstance(leaf, Field):
            yield from _of_filters(leaf.filters)


def in_text(text: str, facility: Facility) -> list[NamedEntity]:
    """Return the things that any text names, in the order of their places."""
    return [one for _, _, one in sorted(_in_text(text, facility))]


def _in_text(text: str, facility: Facility) -> list[_Placed]:
    """Return the things that a text names.

    Where several may stand in one place, one of the facility's lists comes first.
    """
    found: list[_Placed] = []
    for ways in (
        _things(text, facility),
        _people(text, facility),
        _quantities(text),
        _names(text, facility),
    ):
        found += [one for one in ways if not _is_within(one, found)]
    return found


# Where a thing begins and ends in a text, and the thing.
_Placed = tuple[int, int, NamedEntity]


def _is_within(one: _Placed, found: Sequence[_Placed]) -> bool:
    return any(one[0] < end and start < one[1] for start, end, _ in found)


def _things(text: str, facility: Facility) -> Iterator[_Placed]:
    for fact in facility.things.found(text):
        # A fact without a place, as a device's system, is not named in the text.
        if fact.start is not None and fact.end is not None:
            name = text[fact.start : fact.end]
            yield fact.start, fact.end, NamedEntity(fact.field, name, fact.value)


def _people(text: str, facility: Facility) -> Iterator[_Placed]:
    """Yield the people of the facility's list, by any form of their names."""
    places = [match.span() for match in _WORD.finditer(text)] if facility.people else []
    after = 0
    for first, (start, _) in enumerate(places):
        if start < after:
            continue
        for _, end in reversed(places[first : first + _NAME_WORDS]):
            person = facility.people.listed(text[start:end])
            if person is not None:
                yield start, end, NamedEntity(PERSON, text[start:end], person.name)
                after = end
                break


def _quantities(text: str) -> Iterator[_Placed]:
    for one in quantities.find_quantities(text):
        size = f"{one.dimension} {one.value:g} {UNIT_OF[one.dimension]}".rstrip()
        entity = NamedEntity(QUANTITY, text[one.start : one.end], size)
        yield one.start, one.end, entity


def _names(text: str, facility: Facility) -> Iterator[_Placed]:
    for token in scan(text, UNSTEMMED, facility):
        if token.kind is not None and token.is_name:
            name = text[token.start : token.end]
            yield token.start, token.end, NamedEntity(token.kind, name, token.term)


def _numbered(plan: Plan) -> Iterator[NamedEntity]:
    """Yield the entry whose number the question may be, where it is one token."""
    called = name_query.numbers(plan.tree)
    if called:
        at = normalise_hyphens(plan.query).find(called[0])
        place = (at, at + len(called[0])) if at >= 0 else (None, None)
        yield NamedEntity(ENTRY, called[0], called[-1], *place)


def _of_filters(filters: Filters) -> Iterator[NamedEntity]:
    for kind, names in (
        (SOURCE, filters.sources),
        (PERSON, filters.people),
        (ENTRY, filters.ids),
        (THREAD, filters.threads),
    ):
        for name in names or ():
            yield NamedEntity(kind, name, name)
    for fact in filters.facts:
        if fact.field in facts.THINGS:
            for name in fact.any_of:
                yield NamedEntity(fact.field, name, facts.make_key(fact.field, name))
    if filters.quantity is not None:
        said = _bounds(filters.quantity)
        yield NamedEntity(QUANTITY, said, said)


def _bounds(one: QuantityBounds) -> str:
    ends = ((">=", one.least), ("<=", one.most))
    said = [f"{sign} {size:g}" for sign, size in ends if size is not None]
    parts = (one.name, one.dimension, *said, UNIT_OF.get(one.dimension))
    return " ".join(part for part in parts if part)
