"""The facility's glossary as a question uses it: a term, and what means the same."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.text.facility import Facility
from shared.text.tokens import scan


@dataclass(frozen=True, slots=True)
class Form:
    """One way to say a thing, and the others."""

    lexemes: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    # Of the others, those of one word: it may stand in a name, too.
    idents: tuple[str, ...]
    # As the glossary writes it, and the others in their order.
    text: str = ""
    called: tuple[str, ...] = ()


Forms = Mapping[str, Sequence[Form]]


@functools.lru_cache(maxsize=64)
def forms(language: str, facility: Facility) -> Forms:
    """Return the forms of a language by the term that each begins with."""
    found: dict[str, list[Form]] = {}
    for group in facility.glossary:
        read: dict[tuple[str, ...], str] = {}
        for text in group:
            read.setdefault(_lexemes(text, language, facility), text)
        read.pop((), None)
        for lexemes, text in read.items():
            others = tuple(other for other in read if other != lexemes)
            if others:
                idents = tuple(other[0] for other in others if len(other) == 1)
                called = tuple(read[other] for other in others)
                form = Form(lexemes, others, idents, text, called)
                found.setdefault(lexemes[0], []).append(form)
    return found


def _lexemes(text: str, language: str, facility: Facility) -> tuple[str, ...]:
    return tuple(token.term for token in scan(text, language, facility))
