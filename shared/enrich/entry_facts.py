"""What the metadata stage knows of an entry for filters: facts, people, quantities."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from shared import entry_fields
from shared.enrich.source_positions import locate_names
from shared.entries.reading.read_entries import Content
from shared.settings.text_expectations import Expected
from shared.text.facility import people
from shared.text.facility.devices import DEVICE
from shared.text.facility.facility import Facility
from shared.text.facts import (
    ATTACHMENT,
    HAS,
    MAX_VALUE_CHARS,
    PICTURE,
    Fact,
    dated,
    make_comparable,
    make_key,
    metadata_field,
)
from shared.text.reading import quantities, table_units
from shared.text.reading.quantities import Quantity
from shared.text.reading.typed_metadata import NOTHING, Declared, Typed
from shared.text.words import identifiers, languages
from shared.text.words.character_runs import Token
from shared.text.words.identifiers import normalise_hyphens
from shared.text.words.numerals import DecimalMark
from shared.times import event_time
from shared.times.event_time import ReadValue

# Raised with every change of what is found in an entry; read anew by the chore. Not for
# a field that comes to `entry_fields`: no entry of before has it.
_VERSION = 18
# Bits of a facts version: rules and lists below, a source's expectations above.
_FACTS_BITS, _EXPECTED_BITS = 40, 22
PLAINLY = Expected()

SHIFT, EVENT = "shift", "event_time"
# Longer metadata are cut: filters know no more than so many values.
MAX_METADATA = 300
# Marks a fact that was read in the text, not known from a list or a plan.
READ = "read"
# What the source says itself, in the words that it has for it. Facts are compared with
# the stored ones in their order, where the shift stands last.
_SAID = (
    *("kind", "origin"),
    *sorted(entry_fields.NAMES, key=lambda name: name == SHIFT),
)


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """The facts and quantities of one revision."""

    facts: tuple[Fact, ...]
    quantities: tuple[Quantity, ...] = ()

    @property
    def people(self) -> str:
        """Every form of the authors' names, a line each."""
        authors = [fact for fact in self.facts if fact.field == people.AUTHOR]
        return "\n".join(people.forms(authors))


def version_of(facility: Facility, expected: Expected = PLAINLY) -> int:
    """Return by which rules and lists facts are found: others have all read anew.

    What is expected of a text decides its language, too: it is read anew as a whole.
    """
    version = facility.facts_fingerprint << 8 | _VERSION
    plainly = expected._replace(language=expected.language or languages.DEFAULT)
    if plainly == Expected(languages.DEFAULT):
        return version
    told = zlib.crc32(repr(plainly).encode()) % (1 << _EXPECTED_BITS)
    return (told or 1) << _FACTS_BITS | version


def find(
    content: Content,
    text: str,
    names: tuple[Token, ...],
    language: str,
    facility: Facility,
    decimal_mark: DecimalMark | None = None,
    declared: Declared = NOTHING,
) -> EntryFacts:
    """Return facts and quantities of an entry; `text` is its text without markup."""
    metadata = tuple(_metadata(content, declared))
    happened = _happened(content, text, declared.zone)
    # Places are those of the text, and what stands there is shown.
    written = normalise_hyphens(text)
    things = _things(written, names, facility)
    title = normalise_hyphens(content.title)
    facts = [
        *_said(content, language),
        *_typed(metadata),
        *_shift(content, text, facility),
        *_placed_event(content, text, happened),
        *_authors(content, facility),
        # The things of the facility's list that the title names.
        *(replace(one, start=None, end=None) for one in facility.things.found(title)),
        *_placed(content, text, things),
    ]
    numbers = tuple(quantities.find_quantities(written, language, decimal_mark))
    stated = table_units.read_quantities(
        written, numbers, things, language, decimal_mark
    )
    sizes = (*_held(content, stated), *_sizes(metadata))
    if happened is not None:
        sizes = (*sizes, _moment(happened))
    return EntryFacts(tuple(dict.fromkeys(facts)), sizes)


def collect_declared_facts(
    content: Content, language: str, facility: Facility
) -> EntryFacts:
    """Return the facts of an entry that need no look at its text."""
    metadata = tuple(_metadata(content, NOTHING))
    facts = [*_said(content, language), *_typed(metadata), *_authors(content, facility)]
    return EntryFacts(tuple(dict.fromkeys(facts)), tuple(_sizes(metadata)))


def _said(content: Content, language: str) -> Iterator[Fact]:
    for field in _SAID:
        value = getattr(content, field)
        if value:
            yield Fact(field, value, "said")
    yield Fact("language", language, "said" if content.said_language else READ)
    for tag in content.tags:
        yield Fact("tag", tag, "said")
    if content.has_attachments:
        yield Fact(HAS, ATTACHMENT, "said")
    if content.has_pictures:
        yield Fact(HAS, PICTURE, "said")


def _held(content: Content, stated: Iterable[Quantity]) -> Iterator[Quantity]:
    """Yield the text's quantities; a device's get the time since which they hold."""
    said_at = content.event_time or content.entry_time
    for one in stated:
        yield replace(one, said_at=said_at) if one.device else one


def _metadata(content: Content, declared: Declared) -> Iterator[tuple[str, str, Typed]]:
    """Yield each value of metadata: its field, and as it is written and read."""
    for name, value in islice(_leaves(content.metadata, ""), MAX_METADATA):
        yield metadata_field(name), value, declared.read(name, value)


def _typed(metadata: tuple[tuple[str, str, Typed], ...]) -> Iterator[Fact]:
    for field, written, value in metadata:
        text, looks = value.text[:MAX_VALUE_CHARS], written[:MAX_VALUE_CHARS]
        # What is declared to be another thing than it looks is found by its looks, too.
        others = () if make_key(field, text) == make_key(field, looks) else (looks,)
        yield Fact(field, text, "said", aliases=others)


def _sizes(metadata: tuple[tuple[str, str, Typed], ...]) -> Iterator[Quantity]:
    """Yield the numbers and moments of metadata; each name is of its own kind."""
    for field, _, value in metadata:
        if value.number is not None:
            yield Quantity(field, value.number, "", 0, 0)
        if value.moment is not None:
            yield Quantity(dated(field), value.moment, "", 0, 0)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every value of metadata as a text, with its name; no nulls."""
    if isinstance(value, dict):
        for own, inner in value.items():
            yield from _leaves(inner, f"{name}.{own}" if name else own)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif value is not None and make_comparable(str(value)):
        yield name, str(value)


def _shift(content: Content, text: str, facility: Facility) -> Iterator[Fact]:
    """Return the shift that a text names or its time falls in, unless the source does.

    The text knows better than the plan, where it says one and no other.
    """
    if content.shift or not facility.shifts.shifts:
        return
    whole, begins = f"{content.title}\n{text}", len(content.title) + 1
    said = event_time.shift(whole, facility.shifts)
    happened = content.event_time
    if said is None and happened is None:
        zone = facility.shifts.zone
        time = event_time.moment(whole, content.entry_time, zone)
        named = time and facility.shifts.at(datetime.fromisoformat(time.value))
        said = time._replace(value=named) if time and named else None
    if said is not None:
        start, end = said.start - begins, said.end - begins
        fact = Fact(SHIFT, said.value, READ, start, end)
        yield from _read_in(content, text, fact, is_text=start >= 0)
        return
    found = facility.shifts.at(happened or content.entry_time)
    if found is not None:
        yield Fact(SHIFT, found, "plan")


def _happened(content: Content, text: str, zone: str) -> ReadValue | None:
    """Return when the text says that it happened, unless the source knows."""
    if content.event_time is not None:
        return None
    return event_time.moment(f"{content.title}\n{text}", content.entry_time, zone)


def _placed_event(
    content: Content, text: str, happened: ReadValue | None
) -> Iterator[Fact]:
    if happened is not None:
        begins = len(content.title) + 1
        start, end = happened.start - begins, happened.end - begins
        fact = Fact(EVENT, happened.value, READ, start, end)
        yield from _read_in(content, text, fact, is_text=start >= 0)


def _moment(happened: ReadValue) -> Quantity:
    """Return the event time as a quantity that filters compare."""
    at = datetime.fromisoformat(happened.value).timestamp()
    return Quantity(dated(EVENT), at, "", 0, 0)


def _read_in(
    content: Content, text: str, fact: Fact, *, is_text: bool
) -> Iterator[Fact]:
    """Yield a fact with its place in the text; in the title it has none."""
    if is_text:
        yield from _placed(content, text, [fact])
    else:
        yield replace(fact, start=None, end=None)


def _authors(content: Content, facility: Facility) -> Iterator[Fact]:
    for signed in content.authors:
        fact = facility.people.author(signed)
        if fact is not None:
            yield fact


def _things(text: str, names: tuple[Token, ...], facility: Facility) -> list[Fact]:
    """Return devices and systems of the facility's list, or names written like one."""
    if facility.things:
        return list(facility.things.found(text))
    found = [
        Fact(DEVICE, text[one.start : one.end], "form", one.start, one.end)
        for one in names
        if one.kind == DEVICE
    ]
    return found + [
        Fact(DEVICE, text[start:end], "form", start, end)
        for start, end in identifiers.of_a_form(text, {one.value for one in found})
    ]


def _placed(content: Content, text: str, facts: list[Fact]) -> Iterator[Fact]:
    """Yield the facts with their places in the text as it came, between its marks."""
    marked = content.marked or content.text
    if marked == text:
        yield from facts
        return
    named = [fact for fact in facts if fact.start is not None]
    spans = iter(locate_names([text[fact.start : fact.end] for fact in named], marked))
    for fact in facts:
        span = next(spans) if fact.start is not None else None
        yield replace(
            fact, start=span[0] if span else None, end=span[1] if span else None
        )
