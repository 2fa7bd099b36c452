"""What a text itself says that an abbreviation stands for: `long form (ABBR)`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_SHORT = re.compile(r"\(([^\W\d_]{2,8})\)")
_WORD = re.compile(r"[^\W\d_]+")
# Between the words of one term.
_BETWEEN = re.compile(r"[ \t\n-]{1,2}")
# They have no letter in most abbreviations: `department of energy (DE)`.
_SMALL = frozenset(
    (
        *("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the"),
        *("per", "to", "with", "am", "auf", "der", "des", "die", "für", "im", "mit"),
        *("und", "von", "zum", "zur", "de", "du", "en", "et", "la", "le", "les", "del"),
        *("dei", "della", "di", "e", "el", "il", "lo", "los", "las", "y"),
    )
)
_CHARS_BEFORE = 150
MAX_CHARS = 100


class LongForm(NamedTuple):
    """An abbreviation, what it stands for, and where that begins."""

    term: str
    form: str
    place: int


def find(text: str) -> Iterator[LongForm]:
    """Yield what the text says, in order; only where every initial fits."""
    for match in _SHORT.finditer(text):
        # Several are a plural: `beam position monitors (BPMs)`.
        term = match[1].removesuffix("s")
        if len(term) > 1 and term.isupper():
            begin = _begin(text, match.start(), term.lower())
            if begin is not None and match.start() - begin <= MAX_CHARS:
                form = " ".join(text[begin : match.start()].split())
                yield LongForm(term, form, begin)


def _begin(text: str, end: int, letters: str) -> int | None:
    """Return where the words begin whose initials these letters are."""
    low = max(0, end - _CHARS_BEFORE)
    left = len(letters)
    for word in reversed([*_WORD.finditer(text, low, end)]):
        if not _BETWEEN.fullmatch(text[word.end() : end]):
            return None
        end = word.start()
        if word[0][0].lower() == letters[left - 1]:
            left -= 1
            if left == 0:
                # A word that is cut in two here has lost its initial.
                return end if end == 0 or not text[end - 1].isalnum() else None
        elif word[0].lower() not in _SMALL:
            return None
    return None
