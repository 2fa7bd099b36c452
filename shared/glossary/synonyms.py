"""The facility's glossary as a question uses it: a term, and what means the same."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility


@dataclass(frozen=True, slots=True)
class Form:
    """One way to say a thing, and the others."""

    lexemes: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    # The other forms that are a single word: it may stand in a name, too.
    idents: tuple[str, ...]
    # As the glossary writes it, and the others in their order.
    text: str = ""
    called: tuple[str, ...] = ()


Forms = Mapping[str, Sequence[Form]]


# A term and what is said for it, as the facility's people have approved it.
Pairs = tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=256)
def add_synonyms(facility: Facility, approved: Pairs) -> Facility:
    """Add approved pairs to the glossary of the facility's file; idempotent."""
    new = tuple(
        pair
        for pair in approved
        if not any(set(pair) <= set(group) for group in facility.glossary)
    )
    if not new:
        return facility
    before = facility.by_file or facility
    return replace(facility, glossary=(*facility.glossary, *new), by_file=before)


@functools.lru_cache(maxsize=256)
def forms(language: str, facility: Facility) -> Forms:
    """Return the forms of a language by the term that each begins with."""
    before = facility.by_file
    known = {} if before is None else forms(language, before)
    # The file's may be many, and are read once.
    groups = facility.glossary[len(before.glossary) if before else 0 :]
    found: dict[str, list[Form]] = {}
    for group in groups:
        for form in _of_group(group, language, facility):
            found.setdefault(form.lexemes[0], []).append(form)
    return {**known, **{one: [*known.get(one, ()), *found[one]] for one in found}}


def _of_group(
    group: Sequence[str], language: str, facility: Facility
) -> Iterator[Form]:
    read: dict[tuple[str, ...], str] = {}
    for text in group:
        read.setdefault(_lexemes(text, language, facility), text)
    read.pop((), None)
    for lexemes, text in read.items():
        others = tuple(other for other in read if other != lexemes)
        if others:
            idents = tuple(other[0] for other in others if len(other) == 1)
            called = tuple(read[other] for other in others)
            yield Form(lexemes, others, idents, text, called)


def beginnings(language: str, facility: Facility, approved: Pairs) -> dict[str, Pairs]:
    """Return the approved pairs, by the terms that one of their texts begins with."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for pair in approved:
        for text in pair:
            for first in _lexemes(text, language, facility)[:1]:
                found.setdefault(first, {})[pair] = None
    return {first: tuple(pairs) for first, pairs in found.items()}


def _lexemes(text: str, language: str, facility: Facility) -> tuple[str, ...]:
    return tuple(token.term for token in scan(text, language, facility))
