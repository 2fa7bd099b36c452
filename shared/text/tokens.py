"""Text to tokens: one a position, each with its place in the original text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from shared.text import identifiers
from shared.text.folding import MAX_TOKEN_CHARS, fold, stem

# Marks and zero-width characters belong to the word that they stand in.
_MARKS = r"\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff"
_MARK = rf"[{_MARKS}]"
_LETTER = rf"[\w{_MARKS}]"
_CONTRACTION = r"(?:['\u2019\u02bc](?i:s|t|d|m|re|ve|ll)(?!\w))?"
# Possessive, or followed by nothing that could fail: no text makes it go back. Sets
# alone are possessive, because Python before 3.11.5 matches possessive groups wrongly.
_RUN = re.compile(
    rf"(?P<spaced>{identifiers.SPACED})"
    rf"|{_LETTER}++(?:[:.{{}}-]++{_LETTER}++)*{_CONTRACTION}"
)
_PIECE = re.compile(rf"\d+(?:\.\d+)+|(?:[^\W_]++|{_MARK}++)+{_CONTRACTION}")
_DOTTED = re.compile(r"(?<!\d)\.|\.(?!\d)|[{}]|:")
_NUMBER = re.compile(r"(\d+(?:\.\d+)*(?:[eE][+-]?\d+)?)([^\W\d_]*)")
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_CJK_RUN = re.compile(f"[{CJK}]+")


class Token(NamedTuple):
    """One position: its term, what else it is found by, where it stands."""

    term: str
    start: int
    end: int
    idents: tuple[str, ...] = ()
    # Set where the token is a name: pv, device, beamline, document.
    kind: str | None = None


def scan(text: str, language: str) -> Iterator[Token]:
    """Yield the tokens of a text in order; total over any text."""
    for token in scan_words(text):
        yield stemmed(token, language)


def stemmed(token: Token, language: str) -> Token:
    """Return a token as a language has it; names have no language."""
    if token.kind is not None:
        return token
    return Token(stem(token.term, language), *token[1:])


def scan_words(text: str) -> Iterator[Token]:
    """Yield the tokens of a text before any language is known."""
    before: Token | None = None
    for match in _RUN.finditer(text):
        for token in _of_run(match[0], match.start()):
            if before is not None and token.start - before.end == 1:
                token = _with_loose_name(text, before, token)  # noqa: PLW2901
            yield token
            before = token


def _with_loose_name(text: str, before: Token, token: Token) -> Token:
    if text[before.end] not in " \u00a0" or before.kind or token.kind:
        return token
    name = identifiers.loose_name(text[before.start : before.end].lower(), token.term)
    return token if name is None else token._replace(idents=(*token.idents, name))


def _of_run(run: str, start: int) -> Iterator[Token]:
    if run.isalpha() and run.isascii():
        yield Token(fold(run), start, start + len(run))
        return
    name = identifiers.identify(run)
    if name is not None:
        yield Token(name.canonical, start, start + len(run), name.idents, name.kind)
        return
    # Not one name, but its pieces may be: `HCM03.The`, `reset:HCM-03`.
    place = 0
    for cut in [*_DOTTED.finditer(run), None]:
        end = len(run) if cut is None else cut.start()
        if end > place:
            yield from _of_piece(run[place:end], start + place)
        place = end if cut is None else cut.end()


def _of_piece(piece: str, start: int) -> Iterator[Token]:
    if piece.isalpha() and piece.isascii():
        yield Token(fold(piece), start, start + len(piece))
        return
    name = identifiers.identify(piece)
    if name is not None:
        yield Token(name.canonical, start, start + len(piece), name.idents, name.kind)
        return
    number = _NUMBER.fullmatch(piece)
    if number is not None:
        yield from _number(number, start)
        return
    for match in _PIECE.finditer(piece):
        yield from _of_word(match[0], start + match.start())


def _number(number: re.Match[str], start: int) -> Iterator[Token]:
    """Split `500mA` as `500 mA` is split, so that both are found alike."""
    end = start + len(number[1])
    folded = fold_number(number[1])
    if folded:
        yield Token(folded, start, end)
    if number[2]:
        yield from _of_word(number[2], end)


def fold_number(text: str) -> str:
    """Return a number as its term: its own digits, in ASCII where it can be."""
    if text.isascii():
        return text.lower()[:MAX_TOKEN_CHARS]
    kept = "".join(fold(part) or part for part in re.split(r"([.+-])", text))
    return kept[:MAX_TOKEN_CHARS]


def _of_word(word: str, start: int) -> Iterator[Token]:
    name = identifiers.identify(word)
    if name is not None:
        yield Token(name.canonical, start, start + len(word), name.idents, name.kind)
        return
    number = _NUMBER.fullmatch(word)
    if number is not None and number[2]:
        yield from _number(number, start)
        return
    place = 0
    runs = [] if word.isascii() else _CJK_RUN.finditer(word)
    for run in [*runs, None]:
        end = len(word) if run is None else run.start()
        term = fold(word[place:end]) if end > place else ""
        if term.strip("'"):
            yield Token(term, start + place, start + end)
        if run is not None:
            yield from _bigrams(run[0], start + run.start())
            place = run.end()


def _bigrams(run: str, start: int) -> Iterator[Token]:
    """Yield overlapping pairs; single characters are idents of the pair they begin."""
    if len(run) == 1:
        yield Token(run, start, start + 1, (run,))
    last = len(run) - 2
    for i in range(last + 1):
        singles = (run[i], run[i + 1]) if i == last else (run[i],)
        yield Token(run[i : i + 2], start + i, start + i + 2, singles)
