"""Things that a question calls by a word and a number or a letter: `gate valve 8`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from shared.answers.question.empty_words import is_empty
from shared.text.analysis.tokens import scan
from shared.text.facts import make_comparable
from shared.text.reading.quantities import find_quantities
from shared.text.words.folding import fold_surface
from shared.times.calendar_names import (
    CALENDAR_WORDS,
    MONTH_OF,
    SHORT_MONTH_OF,
)

# A small `a` or `e` is a word. Behind a point the letter would be an initial.
_LETTER = re.compile(
    r"(?<![\w'\u2019/&+.-])(?P<quote>['\"]?)(?P<letter>[A-DF-HJ-NP-XZ]|[b-df-h])(?P=quote)"
    r"(?![\w'\u2019/&+-]|\.\s*\w)"
)
_BEFORE = re.compile(r"(?P<word>[^\W\d_][\w-]+)\s*\Z")
_BEHIND = re.compile(r"\s+(?P<word>[\w-]+)")
# Behind a number stands its unit.
_SIZE = re.compile(r"[\d\u00b0]\s*\Z")
_SENTENCE = re.compile(r"(?:\A|[.?!:;])\W*\Z")
# What joins leaves open which is meant; what is measured has a letter for its name.
_NO_THINGS_WORDS = """
    and or und oder et ou e o y versus vs
    band bands clamp clamps field fields flat scan
"""
_NO_THINGS = frozenset(_NO_THINGS_WORDS.split())


# In quotes, at a number or a hyphen, or large among small letters.
_NO_ARTICLE = (
    r"['\"]A['\"]|(?<=[\d-])A(?![A-Za-z])|(?<![A-Za-z])A(?=[\d-])"
    r"|(?<=[A-Za-z,/&]\s)A\b(?!\s[A-Z])|\b(?i:the)\sA\b"
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
    took take used cost costs approximately nearly roughly almost some etwa rund fast
    ungefahr mindestens hochstens environ presque circa quasi unos unas casi
    aproximadamente
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
# One plant calls so what another one calls a unit.
_UNIT = r"(?:units?|unit[ae]s?|unidad|einheit|block|tranche|blocco|bloque)"
_UNITS = re.compile(_UNIT)
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
        written = f"{_name_head(match)} {text[match.start('number') : match.end()]}"
        yield NumberedThing(tuple(kept), match["number"].lstrip("0") or "0", written)
    parts = {part for name in names for part in name.split()}
    yield from (one for one in _find_lettered(text) if one.number not in parts)


def _find_lettered(text: str) -> Iterator[NumberedThing]:
    """Yield what a question calls by a letter; where all is in capitals, nothing."""
    if text.isupper():
        return
    for match in _LETTER.finditer(text):
        start, letter = match.start(), match["letter"]
        found = _BEFORE.search(text, 0, start)
        before = found["word"] if found else ""
        found = _BEHIND.match(text, match.end())
        behind = found["word"] if found else ""
        # `A pump`, `Finding A Leak`
        is_article = letter == "A" and (
            _SENTENCE.search(text, 0, start) is not None
            or (before.istitle() and behind.istitle())
        )
        words = (fold_surface(before, "en"), fold_surface(behind, "en"))
        if (
            is_article
            or behind[:1].isdigit()
            or _SIZE.search(text, 0, start)
            or not _NO_THINGS.isdisjoint(words)
        ):
            continue
        if before and not is_empty(words[0]):
            yield NumberedThing(words[:1], letter.upper(), f"{before} {letter}")
        elif behind and letter.upper() in "ABCDFGH" and not is_empty(words[1]):
            yield NumberedThing(words[1:], letter.upper(), f"{letter} {behind}")


def _has_letter(word: str, letter: str, text: str) -> bool:
    """Tell whether a text has the letter of a thing, by itself or ending a name."""
    if letter == "A":
        beside = rf"(?i:\b{re.escape(word)}\w?\W{{1,3}}a\b)"
        return re.search(f"{beside}|{_NO_ARTICLE}", text) is not None
    small = letter.lower()
    said = rf"(?<![A-Za-z])(?:[A-Z]{{1,2}})?{letter}(?![A-Za-z])"
    said += rf"|(?<![A-Za-z'\u2019]){small}(?![A-Za-z'\u2019])"
    return re.search(said, text) is not None


def _name_head(match: re.Match[str]) -> str:
    """Return the word before a number, with the ones before it that make a name."""
    *before, head = match["words"].split()
    while before and before[-1].istitle() and not is_empty(before[-1].lower()):
        head = f"{before.pop()} {head}"
    return head


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


def find_owner(thing: NumberedThing, texts: Iterable[str]) -> str | None:
    """Return the word that says whose unit a thing is: the plant of `byron unit 2`.

    It is one where any of the texts counts such units, too; None: there is none.
    """
    *before, head = thing.words or ("",)
    if not (before and _COUNTERS.fullmatch(head)):
        return None
    counted = re.compile(
        rf"\b{re.escape(before[-1])}\s+(?:{_COUNTER}[\s#.:\u00b0-]{{1,3}})?\d{{1,4}}\b"
    )
    return before[-1] if any(counted.search(text) for text in texts) else None


def is_named(thing: NumberedThing, text: str, terms: AbstractSet[str]) -> bool:
    """Tell whether a text names the thing: so, in a row of numbers, or abbreviated.

    `terms` are the names of the text: `kck3` abbreviates the third kicker.
    """
    if thing.number.isalpha():
        return _has_letter(thing.words[0], thing.number, text)
    return _is_said(thing, text) or any(_abbreviates(one, thing) for one in terms)


def _is_said(thing: NumberedThing, text: str) -> bool:
    """Tell whether a text has the words of a thing before its number."""
    comparable = make_comparable(text)
    if thing.number not in comparable:
        # So it is with most: a pattern for each question takes a millisecond to make.
        return False
    *before, head = thing.words or thing.written.split()[:1]
    # `Indian Point unit 3` is `Indian Point 3` as well.
    heads = [_UNIT if _UNITS.fullmatch(head) else re.escape(head)]
    if _COUNTERS.fullmatch(head) or _UNITS.fullmatch(head):
        heads += map(re.escape, before[-1:])
    said = re.compile(
        rf"\b(?:{'|'.join(heads)})\w{{0,2}}(?:\s+(?:{_OF}\w{{2,20}}))?"
        rf"(?:[\s#.:-]{{0,3}}|,\s?(?={_COUNTER}\W))"
        rf"(?:{_COUNTER}[\s#.:\u00b0()\[\]-]{{0,9}})?"
        rf"(?:\d{{1,4}}\s*(?:,|/|and|und|&|-|to|bis)\s*){{0,3}}0*{thing.number}(?!\d|[.,]\d)",
        re.IGNORECASE,
    )
    return said.search(comparable) is not None


def _abbreviates(term: str, thing: NumberedThing) -> bool:
    match = _NAME.fullmatch(term.replace("-", ""))
    if match is None or (match["number"].lstrip("0") or "0") != thing.number:
        return False
    return any(
        _is_drawn_from(match["letters"], thing.words[-count:])
        for count in range(1, len(thing.words) + 1)
    )


def _is_drawn_from(letters: str, words: Sequence[str]) -> bool:
    """Tell whether letters begin as each of the words does, and come there in order."""
    if not words:
        return not letters
    first, *others = words
    return any(
        _begins_so(letters[:count], first) and _is_drawn_from(letters[count:], others)
        for count in range(1, len(letters) + 1)
    )


def _begins_so(letters: str, word: str) -> bool:
    rest = iter(word)
    return word.startswith(letters[0]) and all(letter in rest for letter in letters)
