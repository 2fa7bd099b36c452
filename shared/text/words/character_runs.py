"""What stands between two blanks, run by run: words, numbers, names, times."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from shared.text.words import compounds, identifiers
from shared.text.words.folding import (
    GERMAN,
    MAX_TOKEN_CHARS,
    fold,
    fold_surface,
    spell_out_umlauts,
    stem,
)
from shared.times import date_tokens

# Marks and zero-width characters belong to the word that they stand in.
_MARKS = r"\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff"
_MARK = rf"[{_MARKS}]"
_LETTER = rf"[\w{_MARKS}]"
_CONTRACTED = r"['\u2019\u02bc](?i:s|t|d|m|re|ve|ll)"
_CONTRACTION = rf"(?:{_CONTRACTED}(?!\w))?"
# Possessive, or followed by nothing that could fail: no text makes it go back. Sets
# alone are possessive, because Python before 3.11.5 matches possessive groups wrongly.
_RUN = re.compile(rf"{_LETTER}++(?:[:.{{}}-]++{_LETTER}++)*{_CONTRACTION}")
_PIECE = re.compile(rf"\d+(?:\.\d+)+|(?:[^\W_]++|{_MARK}++)+{_CONTRACTION}")
_CONTRACTED_END = re.compile(rf"{_CONTRACTED}\Z")
_CONTRACTED_BEGIN = re.compile(rf"{_CONTRACTED}(?!\w)")
_DOTTED = re.compile(r"(?<!\d)\.|\.(?!\d)|[{}]|:")
_NUMBER = re.compile(r"(\d+(?:\.\d+)*(?:[eE][+-]?\d+)?)([^\W\d_]*)")
_EXPONENT_ZEROS = re.compile(r"(?<=[eE])([+-]?)0+(?=\d)")
HALF_WIDTH = "\uff66-\uff9f"
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    f"\U00020000-\U0003134f{HALF_WIDTH}"
)
_CJK_RUN = re.compile(f"[{CJK}]+")
_HALF_WIDTH = re.compile(f"[{HALF_WIDTH}]")
# A kana of half width has its voicing as a character of its own.
_CHARACTER = re.compile("[\uff66-\uff9d][\uff9e\uff9f]|.")
# Beyond it nothing is one name or one time.
_MAX_WHOLE_CHARS = 100


class Token(NamedTuple):
    """One position: its term, what else it is found by, where it stands."""

    term: str
    start: int
    end: int
    idents: tuple[str, ...] = ()
    # Set where the token is no word: pv, device, beamline, document, time, date.
    kind: str | None = None
    # The name that the word before and this number may be.
    loose: str | None = None
    # The written form of a word, folded and not stemmed.
    surface: str | None = None

    @property
    def is_name(self) -> bool:
        """Tell whether the token names a thing; a date or a time does not."""
        return self.kind is not None and self.kind not in date_tokens.KINDS

    def moved(self, by: int) -> Token:
        """Return the token moved further on in the text."""
        # `_replace` takes four times as long, for each word that is read.
        return Token(self[0], self[1] + by, self[2] + by, *self[3:]) if by else self


class Runs:
    """Reads runs of characters as words of one language."""

    def __init__(self, language: str, parts: frozenset[str]) -> None:
        self.language = language
        # What German compounds are made of.
        self._parts = parts

    def tokens(self, chunk: str) -> Iterator[Token]:
        """Yield the tokens of a stretch without blanks, in order."""
        for match in _RUN.finditer(chunk):
            yield from self._of_run(match[0], match.start())

    def _of_run(self, run: str, start: int) -> Iterator[Token]:
        if run.isascii() and run.isalpha():
            yield self._word(run, start)
            return
        if whole := _whole(run, start):
            yield from whole
            return
        cuts = [*_DOTTED.finditer(run)]
        if not cuts:
            yield from self._of_pieces(run, start)
            return
        # Not one name, but its pieces may be: `HCM03.The`, `reset:HCM-03`.
        place = 0
        for cut in [*cuts, None]:
            end = len(run) if cut is None else cut.start()
            if end > place:
                yield from self._of_run(run[place:end], start + place)
            place = end if cut is None else cut.end()

    def _of_pieces(self, part: str, start: int) -> Iterator[Token]:
        number = _NUMBER.fullmatch(_bare(part))
        if number is not None:
            yield from self._number(number, start)
            return
        for match in _PIECE.finditer(part):
            yield from self._of_word(match[0], start + match.start())

    def _number(self, number: re.Match[str], start: int) -> Iterator[Token]:
        """Split `500mA` as `500 mA` is split, so that both are found alike."""
        end = start + len(number[1])
        folded = fold_number(number[1])
        if folded:
            idents = date_tokens.of_digits(number[1], number[2])
            kind = date_tokens.TIME if idents else None
            yield Token(folded, start, end, idents, kind)
        if number[2]:
            yield from self._of_word(number[2], end)

    def _of_word(self, word: str, start: int) -> Iterator[Token]:
        if whole := _whole(word, start):
            yield from whole
            return
        number = _NUMBER.fullmatch(_bare(word))
        if number is not None:
            yield from self._number(number, start)
            return
        runs = [] if word.isascii() else [*_CJK_RUN.finditer(word)]
        if not runs:
            token = self._word(word, start)
            if token.term:
                yield token
            return
        # No blank parts `BPM12` from what is said of it.
        place = 0
        for run in [*runs, None]:
            end = len(word) if run is None else run.start()
            if end > place:
                yield from self._of_word(word[place:end], start + place)
            if run is not None:
                yield from _bigrams(run[0], start + run.start())
                place = run.end()

    def _word(self, word: str, start: int) -> Token:
        folded = fold_surface(word, self.language)
        term = stem(folded, self.language)
        others = self._other_ways(word, folded)
        return Token(term, start, start + len(word), others, surface=folded)

    def _other_ways(self, word: str, folded: str) -> tuple[str, ...]:
        """Return more terms for a word: umlauts spelt out, parts of a compound."""
        if self.language != GERMAN:
            spelt = spell_out_umlauts(word)
            return (spelt,) if spelt else ()
        if len(folded) < compounds.MIN_COMPOUND_CHARS:
            return ()
        parts = compounds.parts_of(folded, self._parts)
        return tuple(sorted({*parts, *(stem(part, GERMAN) for part in parts)}))


def fold_number(text: str) -> str:
    """Return the term of a number: its digits as written, in ASCII where possible."""
    text = _EXPONENT_ZEROS.sub(r"\1", text)
    if text.isascii():
        return text.lower()[:MAX_TOKEN_CHARS]
    kept = "".join(fold(part) or part for part in re.split(r"([.+-])", text))
    return kept[:MAX_TOKEN_CHARS]


def contraction_length(text: str) -> int:
    """Return how long the `'s` is that a text begins with, or 0."""
    match = _CONTRACTED_BEGIN.match(text)
    return match.end() if match else 0


def _bare(run: str) -> str:
    """Return a run without the `'s` at its end: no name and no number has one."""
    match = _CONTRACTED_END.search(run)
    return run[: match.start()] if match else run


def _whole(run: str, start: int) -> list[Token]:
    """Return the one name, or the date and times, that a run of characters is."""
    if len(run) > _MAX_WHOLE_CHARS:
        return []
    run = _bare(run)
    if not run.isascii():
        return []
    times = date_tokens.parse_date_token(run)
    if times is not None:
        return [
            Token(one.term, start + one.start, start + one.end, one.idents, one.kind)
            for one in times
        ]
    name = identifiers.identify(run)
    if name is None:
        return []
    return [Token(name.canonical, start, start + len(run), name.idents, name.kind)]


def _bigrams(run: str, start: int) -> Iterator[Token]:
    """Yield overlapping pairs; single characters are idents of the pair they begin."""
    if _HALF_WIDTH.search(run):
        written = [*_CHARACTER.finditer(run)]
        run = "".join(unicodedata.normalize("NFKC", one[0])[0] for one in written)
        places = [start + one.start() for one in written] + [start + written[-1].end()]
    else:
        places = [*range(start, start + len(run) + 1)]
    if len(run) == 1:
        yield Token(run, start, places[1], (run,))
    last = len(run) - 2
    for i in range(last + 1):
        singles = (run[i], run[i + 1]) if i == last else (run[i],)
        yield Token(run[i : i + 2], places[i], places[i + 2], singles)
