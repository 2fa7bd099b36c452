"""Things that a question calls by a word and a number: `turbine 2`, `gate valve 8`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from shared.answers.question.empty_words import is_empty
from shared.text.facts import make_comparable
from shared.text.reading.quantities import find_quantities
from shared.text.words.folding import fold_surface

_NUMBERED = re.compile(
    r"(?P<words>(?:[^\W\d_][\w'-]*\s+){0,2}?(?P<head>[^\W\d_][^\W_]+))"
    r"\s+#?(?P<number>\d{1,4})(?![\w:%\u00b0/]|[.,]\d)"
)
_MONTHS = (
    r"\s*\.?\s*(?:jan|feb|m[a\u00e4]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\w*"
)
_DATED = re.compile(_MONTHS, re.IGNORECASE)
# Behind these stands how many, how much or when, not which one.
_OTHER_HEADS = """
    about after around at before below above since until than over under only every last
    next first limit day days jan feb mar apr may jun jul aug sep oct nov dec january
    february march april june july august september october november december januar
    februar marz mai juni juli oktober dezember read to by exceeded reached
"""
_NO_HEADS = frozenset(_OTHER_HEADS.split())
# `compresor de helio 2`: what it is for stands before the number.
_OF = r"(?:de|du|des|a|di|da|del|della|dell|d)(?:\s+|')"
_NAME = re.compile(r"(?P<letters>[a-z]{1,8})(?P<number>\d{1,4})")


@dataclass(frozen=True, slots=True)
class NumberedThing:
    """The words before a number, folded, the last one being the thing; the number."""

    words: tuple[str, ...]
    number: str
    written: str


def find_things(text: str, names: AbstractSet[str]) -> Iterator[NumberedThing]:
    """Yield the numbered things of a question; what is a name or a size is none."""
    sizes = [(one.start, one.end) for one in find_quantities(text)]
    for match in _NUMBERED.finditer(text):
        at = match.start("number")
        head = fold_surface(match["head"], "en")
        if (
            head in _NO_HEADS
            or is_empty(head)
            or _DATED.match(text, match.end())
            or any(start <= at < end for start, end in sizes)
            or any(match["number"] in name and match["head"] in name for name in names)
        ):
            continue
        words = [fold_surface(word, "en") for word in match["words"].split()]
        kept = [word for word in words if not is_empty(word)]
        start = match.end("number") - len(match["number"])
        written = f"{match['head']} {text[start : match.end('number')]}"
        yield NumberedThing(tuple(kept), match["number"].lstrip("0") or "0", written)


def is_named(thing: NumberedThing, text: str, terms: AbstractSet[str]) -> bool:
    """Tell whether a text names the thing: so, in a row of numbers, or abbreviated.

    `terms` are the names of the text: `kck3` abbreviates the third kicker.
    """
    head = re.escape(thing.words[-1] if thing.words else thing.written.split()[0])
    said = re.compile(
        rf"\b{head}\w{{0,2}}(?:\s+(?:{_OF}\w{{2,20}}))?[\s#.:-]{{0,3}}"
        r"(?:(?:no|nr)\.?\s*)?"
        rf"(?:\d{{1,4}}\s*(?:,|/|and|und|&|-|to|bis)\s*){{0,3}}0*{thing.number}(?!\d|[.,]\d)",
        re.IGNORECASE,
    )
    is_said = said.search(make_comparable(text)) is not None
    return is_said or any(_abbreviates(one, thing) for one in terms)


def _abbreviates(term: str, thing: NumberedThing) -> bool:
    match = _NAME.fullmatch(term.replace("-", ""))
    if match is None or (match["number"].lstrip("0") or "0") != thing.number:
        return False
    return any(
        _is_drawn_from(match["letters"], "".join(thing.words[-count:]))
        for count in range(1, len(thing.words) + 1)
    )


def _is_drawn_from(letters: str, words: str) -> bool:
    """Tell whether letters begin as the words do, and all come there in that order."""
    if not words.startswith(letters[0]):
        return False
    rest = iter(words)
    return all(letter in rest for letter in letters)
