"""Chooses the part of a text that a result shows."""

from __future__ import annotations

from collections.abc import Sequence

from shared.search.results.term_marks import Mark

# About what an encoder reads at once; a shorter text is shown whole.
PASSAGE_CHARACTERS = 1500
_STEP = PASSAGE_CHARACTERS // 2


def passage(
    text: str, marks: Sequence[Mark], span: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the chunk that a branch named, else the stretch with most marks.

    Of stretches with equally many parts of the question the first is taken, so that the
    choice is always the same.
    """
    if span is not None and 0 <= span[0] < span[1] <= len(text):
        return span
    if len(text) <= PASSAGE_CHARACTERS:
        return 0, len(text)
    starts = range(0, max(1, len(text) - _STEP), _STEP)
    best = max(starts, key=lambda start: (_answered(marks, start), -start))
    return best, min(len(text), best + PASSAGE_CHARACTERS)


def by_words(
    text: str, marks: Sequence[Mark], words: Sequence[Sequence[str]]
) -> tuple[int, int] | None:
    """Return a stretch that has words of more parts than the marks do, else None.

    It compares plain characters, so it misses forms of words that look different.
    """
    if len(text) <= PASSAGE_CHARACTERS:
        return None
    start, _ = passage(text, marks, None)
    best, most = None, _answered(marks, start)
    for start in range(0, max(1, len(text) - _STEP), _STEP):
        stretch = text[start : start + PASSAGE_CHARACTERS].casefold()
        found = sum(any(word in stretch for word in part) for part in words)
        if found > most:
            best, most = start, found
    return None if best is None else (best, min(len(text), best + PASSAGE_CHARACTERS))


def _answered(marks: Sequence[Mark], start: int) -> int:
    end = start + PASSAGE_CHARACTERS
    return len({one.part for one in marks if start <= one.start and one.end <= end})
