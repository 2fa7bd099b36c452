"""Things that a question calls by a word and a letter: `train A`, `the B pump`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shared.answers.question.empty_words import is_empty
from shared.text.words.folding import fold_surface

# A small `a` or `e` is a word. Behind a point the letter would be an initial.
_LETTER = re.compile(
    r"(?<![\w'\u2019/&+.-])(?P<quote>['\"]?)(?P<letter>[A-DF-H]|[b-df-h])(?P=quote)"
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


class LetteredThing(NamedTuple):
    """The word beside a letter, folded; the letter; both as they are written."""

    word: str
    letter: str
    written: str


def find_lettered_things(text: str) -> Iterator[LetteredThing]:
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
            yield LetteredThing(words[0], letter.upper(), f"{before} {letter}")
        elif behind and not is_empty(words[1]):
            yield LetteredThing(words[1], letter.upper(), f"{letter} {behind}")


def has_letter(word: str, letter: str, text: str) -> bool:
    """Tell whether a text has the letter of a thing, by itself or ending a name."""
    if letter == "A":
        beside = rf"(?i:\b{re.escape(word)}\w?\W{{1,3}}a\b)"
        return re.search(f"{beside}|{_NO_ARTICLE}", text) is not None
    small = letter.lower()
    said = rf"(?<![A-Za-z])(?:[A-Z]{{1,2}})?{letter}(?![A-Za-z])"
    said += rf"|(?<![A-Za-z'\u2019]){small}(?![A-Za-z'\u2019])"
    return re.search(said, text) is not None
