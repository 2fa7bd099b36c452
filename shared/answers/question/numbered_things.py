"""Things that a question calls by a word and a number or a letter: `gate valve 8`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from shared.answers.question.empty_words import is_empty
from shared.answers.question.lettered_things import find_lettered_things, has_letter
from shared.text.analysis.tokens import scan
from shared.text.facts import make_comparable
from shared.text.reading.quantities import find_quantities
from shared.text.words.folding import fold_surface
from shared.times.calendar_names import (
    CALENDAR_WORDS,
    MONTH_OF,
    SHORT_MONTH_OF,
)

_NUMBERED = re.compile(
    r"(?P<words>(?:[^\W\d_][\w'-]*\s+){0,2}?(?P<head>[^\W\d_][^\W_]+))"
    r"\s+(?:(?i:(?:no|nr|num|n)\.|n[\u00b0\u00ba])\s*)?#?(?P<number>\d{1,4})"
    r"(?![\w:%\u00b0/]|[.,]\d"
    r"|\s+(?:times?|mal|fois|volte|veces)\b)"
)
_MONTHS = rf"(?:{'|'.join(MONTH_OF | SHORT_MONTH_OF)})\b"
_DATED = re.compile(rf"\s*\.?\s*(?:de |di )?{_MONTHS}", re.IGNORECASE)
_MONTH_LAST = re.compile(rf"\b{_MONTHS}\.?\s*\Z", re.IGNORECASE)
# Behind these stands how many, how much or when, not which one.
_OTHER_HEADS = """
    about after around at before below above since until than over under only every last
    next first limit day days read to by exceeded reached need needs show find lost lose
    took take used cost costs
"""
_NO_HEADS = frozenset(_OTHER_HEADS.split()) | CALENDAR_WORDS
# A number behind one of these is its value.
_MEASURED = """
    availability budget cost current dose emittance energy fraction gap length level
    lifetime limit noise number percentage power pressure price rate share size
    temperature threshold value voltage
"""
_MEASURES = frozenset(_MEASURED.split())
_YEAR_LAST = re.compile(r"(?:19|20)\d\d\W*\Z")
_DONE = re.compile(r"\w{3,}[^e]ed")
# `compresor de helio 2`: what it is for stands before the number.
_OF = r"(?:de|du|des|a|di|da|del|della|dell|d)(?:\s+|')"
# What counts things stands before the number, or in the place of the thing.
_COUNTER = r"(?:units?|unit[ae]s?|unidad|einheit|no|nr|n|num(?:ber|mer|ero)?)"
_COUNTERS = re.compile(_COUNTER)
_NAME = re.compile(r"(?P<letters>[a-z]{1,8})(?P<number>\d{1,4})")


@dataclass(frozen=True, slots=True)
class NumberedThing:
    """The words before a number, folded, the last one being the thing; the number.

    What is called by a letter has it for its number.
    """

    words: tuple[str, ...]
    number: str
    written: str


def find_things(text: str, names: AbstractSet[str]) -> Iterator[NumberedThing]:
    """Yield the numbered things of a question; what is a name or a size is none."""
    for match, _ in _match_things(text):
        if any(match["number"] in name and match["head"] in name for name in names):
            continue
        if _YEAR_LAST.match(text, match.start("number")):
            continue
        words = [fold_surface(word, "en") for word in match["words"].split()]
        kept = [word for word in words if not is_empty(word)]
        written = f"{match['head']} {text[match.start('number') : match.end()]}"
        yield NumberedThing(tuple(kept), match["number"].lstrip("0") or "0", written)
    parts = {part for name in names for part in name.split()}
    for word, letter, written in find_lettered_things(text):
        if letter not in parts:
            yield NumberedThing((word,), letter, written)


def tells_value(sentence: str, language: str) -> bool:
    """Tell whether a sentence has a size, or a number of no time, date, name or thing.

    `Low in hall 2 after 10:30` says of nothing how much it was.
    """
    if any(find_quantities(sentence, language)):
        return True
    others = {
        match.start("number")
        for match, head in _match_things(sentence)
        if head not in _MEASURES
    }
    return any(
        token.kind is None
        and not token.surface
        and sentence[token.start].isdigit()
        and token.start not in others
        and not _DATED.match(sentence, token.end)
        and not _MONTH_LAST.search(sentence, 0, token.start)
        for token in scan(sentence, language)
    )


def _match_things(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield where a thing stands with its number, and the folded word for it."""
    sizes = [(one.start, one.end) for one in find_quantities(text)]
    for match in _NUMBERED.finditer(text):
        at = match.start("number")
        head = fold_surface(match["head"], "en")
        if not (
            head in _NO_HEADS
            # `replaced 2 pumps`
            or _DONE.fullmatch(head)
            or is_empty(head)
            or _DATED.match(text, match.end())
            or any(start <= at < end for start, end in sizes)
        ):
            yield match, head


def is_named(thing: NumberedThing, text: str, terms: AbstractSet[str]) -> bool:
    """Tell whether a text names the thing: so, in a row of numbers, or abbreviated.

    `terms` are the names of the text: `kck3` abbreviates the third kicker.
    """
    if thing.number.isalpha():
        return has_letter(thing.words[0], thing.number, text)
    *before, head = thing.words or thing.written.split()[:1]
    # `Indian Point unit 3` is `Indian Point 3` as well.
    heads = [head, *before[-1:]] if _COUNTERS.fullmatch(head) else [head]
    said = re.compile(
        rf"\b(?:{'|'.join(map(re.escape, heads))})\w{{0,2}}(?:\s+(?:{_OF}\w{{2,20}}))?"
        rf"[\s#.:-]{{0,3}}(?:{_COUNTER}[\s#.:\u00b0-]{{0,3}})?"
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
