"""What the analyser makes of a text, and why: for people who wonder at a result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words import function_words
from shared.text.words.character_runs import CJK, Token
from shared.text.words.folding import STEMMED_LANGUAGES, fold_surface, spell_out_umlauts

_KINDS = {
    "pv": "a process variable: one term, found by its parts and beginnings, too",
    "device": "a device: every spelling of it is this term",
    "substance": "a substance: every spelling of it is this term",
    "beamline": "a beamline: every spelling of it is this term",
    "document": "a number with letters: one term whose zeros count",
    "time": "a time of day, and no name",
    "date": "a date, and no name",
}
_IS_CJK = re.compile(f"[{CJK}]")
_IS_NUMBER = re.compile(r"\d[\d.eE+-]*")


@dataclass(frozen=True, slots=True)
class Explained:
    """One position of the stream."""

    position: int
    start: int
    end: int
    written: str
    term: str
    kind: str
    # What else it is found by.
    idents: tuple[str, ...]
    why: tuple[str, ...]


def explain(
    text: str, language: str, facility: Facility = PLAIN
) -> Iterator[Explained]:
    """Yield each position of a text with the reasons for its term."""
    for position, token in enumerate(scan(text, language, facility), 1):
        written = text[token.start : token.end]
        yield Explained(
            position=position,
            start=token.start,
            end=token.end,
            written=written,
            term=token.term,
            kind=token.kind or "word",
            idents=token.idents,
            why=tuple(_why(token, written, language)),
        )


def _why(token: Token, written: str, language: str) -> Iterator[str]:
    if token.kind is not None:
        yield _KINDS.get(token.kind, f"a name by the facility's pattern {token.kind}")
    elif _IS_CJK.match(token.term):
        yield "neighbouring characters; each alone finds it, too"
    elif _IS_NUMBER.fullmatch(token.term):
        yield "a number, apart from its unit"
    else:
        yield from _why_a_word(token, written, language)
    if token.loose is not None:
        yield f"with the word before it may be the name {token.loose}"


def _why_a_word(token: Token, written: str, language: str) -> Iterator[str]:
    whole = fold_surface(written, language)
    if whole != written.lower():
        yield "without accents, as who lacks the key types it"
    if token.term != whole:
        yield f"its stem in {language}"
    elif language not in STEMMED_LANGUAGES:
        yield "as it stands: this language has no stemmer"
    if token.idents and spell_out_umlauts(written) not in token.idents:
        yield "a compound, found by its parts, too"
    if function_words.joins(whole, language):
        yield "in a question it only joins or asks: searched in quotes or alone"
    if token.term == whole == written.lower() and language in STEMMED_LANGUAGES:
        yield "a word as it stands"
