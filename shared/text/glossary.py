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


Forms = Mapping[str, Sequence[Form]]


@functools.lru_cache(maxsize=64)
def forms(language: str, facility: Facility) -> Forms:
    """Return the forms of a language by the term that each begins with."""
    found: dict[str, list[Form]] = {}
    for group in facility.glossary:
        read = [_lexemes(text, language, facility) for text in group]
        for lexemes in dict.fromkeys(read):
            others = tuple(dict.fromkeys(x for x in read if x and x != lexemes))
            if lexemes and others:
                idents = tuple(other[0] for other in others if len(other) == 1)
                found.setdefault(lexemes[0], []).append(Form(lexemes, others, idents))
    return found


def _lexemes(text: str, language: str, facility: Facility) -> tuple[str, ...]:
    return tuple(token.term for token in scan(text, language, facility))
