"""Which part of a text a result shows."""

from __future__ import annotations

import re

# About what an encoder reads at once; a shorter text is shown whole.
PASSAGE_CHARACTERS = 1500
_STEP = PASSAGE_CHARACTERS // 2
_WORD = re.compile(r"\w+")


def passage(text: str, query: str, span: tuple[int, int] | None) -> str:
    """Return the chunk a branch named, else the stretch with most of the words asked.

    Of equal stretches the first is taken, so that the choice is always the same.
    """
    if span is not None and 0 <= span[0] < span[1] <= len(text):
        return text[span[0] : span[1]]
    if len(text) <= PASSAGE_CHARACTERS:
        return text
    words = {word.casefold() for word in _WORD.findall(query)}
    starts = range(0, max(1, len(text) - _STEP), _STEP)
    best = max(starts, key=lambda start: (_matched(text, start, words), -start))
    return text[best : best + PASSAGE_CHARACTERS].strip()


def _matched(text: str, start: int, words: set[str]) -> int:
    stretch = text[start : start + PASSAGE_CHARACTERS].casefold()
    return sum(word in stretch for word in words)
