"""What the metadata stage knows of an entry for filters: facts, people, quantities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from shared.enrich.places import places
from shared.entries.reading import Content
from shared.text import parameters, people, quantities
from shared.text.facility import Facility
from shared.text.facts import (
    ATTACHMENT,
    HAS,
    MAX_VALUE_CHARS,
    Fact,
    as_number,
    comparable,
    metadata_field,
    size,
)
from shared.text.quantities import Quantity
from shared.text.runs import Token
from shared.text.things import DEVICE

# Raised with every change of what is found in an entry; read anew by the chore.
_VERSION = 5

SHIFT = "shift"
# Of longer lists the rest is not filtered by.
MAX_METADATA = 300
# What the source says itself, in the words that it has for it.
_SAID = ("kind", "origin", "level", "category", SHIFT)


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one revision."""

    facts: tuple[Fact, ...]
    quantities: tuple[Quantity, ...] = ()

    @property
    def people(self) -> str:
        """Every form of the authors' names, a line each."""
        authors = [fact for fact in self.facts if fact.field == people.AUTHOR]
        return "\n".join(people.forms(authors))


def version_of(facility: Facility) -> int:
    """Return by which rules and lists facts are found: others have all read anew."""
    return facility.facts_fingerprint << 8 | _VERSION


def find(
    content: Content,
    text: str,
    names: tuple[Token, ...],
    language: str,
    facility: Facility,
) -> Found:
    """Return what is known of an entry; `text` is as it is read, without marks."""
    things = _things(text, names, facility)
    facts = [
        *_said(content, language),
        *_shift(content, facility),
        *_authors(content, facility),
        *_titled(content, facility),
        *_placed(content, text, things),
    ]
    sizes = (*_values(content, text, things), *_sizes(content))
    return Found(tuple(dict.fromkeys(facts)), sizes)


def _said(content: Content, language: str) -> Iterator[Fact]:
    for field in _SAID:
        value = getattr(content, field)
        if value:
            yield Fact(field, value, "said")
    yield Fact("language", language, "said" if content.said_language else "read")
    for tag in content.tags:
        yield Fact("tag", tag, "said")
    for name, value in islice(_leaves(content.metadata, ""), MAX_METADATA):
        field = metadata_field(name)
        yield Fact(field, as_number(value)[:MAX_VALUE_CHARS], "said")
    if content.has_attachments:
        yield Fact(HAS, ATTACHMENT, "said")


def _values(content: Content, text: str, things: list[Fact]) -> Iterator[Quantity]:
    """Yield the numbers of the text; those of a device hold since it happened."""
    said_at = content.event_time or content.entry_time
    for one in parameters.stated(text, tuple(quantities.found(text)), things):
        yield replace(one, said_at=said_at) if one.device else one


def _sizes(content: Content) -> Iterator[Quantity]:
    """Yield the numbers of metadata; each name is a dimension of its own."""
    for name, value in islice(_leaves(content.metadata, ""), MAX_METADATA):
        number = size(value)
        if number is not None:
            yield Quantity(metadata_field(name), number, "", 0, 0)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every value of metadata as a text, with its name; no nulls."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif value is not None and comparable(str(value)):
        yield name, str(value)


def _shift(content: Content, facility: Facility) -> Iterator[Fact]:
    """The shift in which it happened, unless the source knows better."""
    if not content.shift:
        found = facility.shifts.at(content.event_time or content.entry_time)
        if found is not None:
            yield Fact(SHIFT, found, "plan")


def _authors(content: Content, facility: Facility) -> Iterator[Fact]:
    for signed in content.authors:
        fact = facility.people.author(signed)
        if fact is not None:
            yield fact


def _titled(content: Content, facility: Facility) -> Iterator[Fact]:
    """What of the facility's list the title names."""
    for fact in facility.things.found(content.title):
        yield replace(fact, start=None, end=None)


def _things(text: str, names: tuple[Token, ...], facility: Facility) -> list[Fact]:
    """Systems and devices: of the facility's list, or else what is written like one."""
    if facility.things:
        return list(facility.things.found(text))
    return [
        Fact(DEVICE, text[one.start : one.end], "form", one.start, one.end)
        for one in names
        if one.kind == DEVICE
    ]


def _placed(content: Content, text: str, facts: list[Fact]) -> Iterator[Fact]:
    """Yield the facts with their places in the text as it came, between its marks."""
    marked = content.marked or content.text
    if marked == text:
        yield from facts
        return
    named = [fact for fact in facts if fact.start is not None]
    spans = iter(places([text[fact.start : fact.end] for fact in named], marked))
    for fact in facts:
        span = next(spans) if fact.start is not None else None
        yield replace(
            fact, start=span[0] if span else None, end=span[1] if span else None
        )
