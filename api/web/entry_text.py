"""The text of an entry, sentence by sentence, with the words that were asked for."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shared.answers.evidence.evidence import MAX_CHARACTERS
from shared.answers.evidence.sentences import split_sentences
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.language import grammar
from shared.search.results.term_marks import WantedTerms, merged
from shared.text.facility.facility import Facility

# What is longer is a dump: its words are not marked.
_MOST_MARKED = 200_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, and whether it was asked for."""

    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """A sentence by its number, or, without one, what stands between two."""

    number: int | None
    pieces: Sequence[Piece]


def anchors(text: str) -> list[int]:
    """Return where each sentence begins, as answers read the text."""
    # The same beginning as answers read: where lines were broken depends on it.
    return [one.start for one in split_sentences(text[:MAX_CHARACTERS])]


def anchor_of(starts: Sequence[int], start: int | None) -> str:
    """Return the anchor of what begins there; of a title, where none is given."""
    if start is None:
        return "title"
    return f"s{max(1, bisect_right(starts, start))}"


def split_text(
    text: str, query: str, language: str | None, facility: Facility
) -> list[Stretch]:
    """Split a text into stretches, one for each sentence."""
    marks = _marks(text, query, language, facility)
    found: list[Stretch] = []
    at = 0
    for number, (start, end, _) in enumerate(split_sentences(text[:MAX_CHARACTERS]), 1):
        if at < start:
            found.append(Stretch(None, [Piece(text[at:start], is_marked=False)]))
        found.append(Stretch(number, [*_pieces(text, start, end, marks)]))
        at = end
    if at < len(text):
        found.append(Stretch(None, [*_pieces(text, at, len(text), marks)]))
    return found


def marked_pieces(
    text: str, query: str, language: str | None, facility: Facility
) -> list[Piece]:
    """Return a short text in pieces, the words of the question marked."""
    marks = _marks(text, query, language, facility)
    return [*_pieces(text, 0, len(text), marks)]


def _marks(
    text: str, query: str, language: str | None, facility: Facility
) -> list[tuple[int, int]]:
    if not query.strip() or len(text) > _MOST_MARKED:
        return []
    wanted = _wanted(query, language or "", facility)
    return merged(wanted.marks(text, facility))


@lru_cache(maxsize=64)
def _wanted(query: str, language: str, facility: Any) -> WantedTerms:
    question = compile_question(grammar.parse(query).tree, facility)
    return WantedTerms(question, language)


def _pieces(
    text: str, start: int, end: int, marks: Sequence[tuple[int, int]]
) -> Iterator[Piece]:
    at = start
    for first, last in marks:
        if last <= start or first >= end:
            continue
        first, last = max(first, start), min(last, end)  # noqa: PLW2901 - cut to fit
        if at < first:
            yield Piece(text[at:first], is_marked=False)
        yield Piece(text[first:last], is_marked=True)
        at = last
    if at < end:
        yield Piece(text[at:end], is_marked=False)
