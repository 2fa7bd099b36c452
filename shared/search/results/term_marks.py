"""Marks the words of a text that a question asks for, compared as engines do."""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from shared.search.query.compiled import conditions
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.text.analysis import tokens
from shared.text.analysis.tokens import TextPiece, TokenReader
from shared.text.facility.facility import Facility
from shared.text.words.character_runs import Token
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

# In a longer text only the beginning, or the part that is shown, is read again.
MAX_CHARACTERS = 100_000
# A word that stands everywhere need not be marked everywhere.
MAX_MARKS = 2000
# How many parts of a question, and words of each part, are looked for where a text is
# not analysed.
MAX_WORDS = 20


class Mark(NamedTuple):
    """A stretch of a text, and which part of the question it answers."""

    start: int
    end: int
    part: int


class _Phrase(NamedTuple):
    """The terms that must follow each other for a part of the question to be there."""

    places: tuple[frozenset[str], ...]
    part: int


class _Begun(NamedTuple):
    phrase: _Phrase
    start: int
    # How many of its places were found.
    found: int


class WantedTerms:
    """The terms that a question wants to find in texts of one language."""

    def __init__(self, question: CompiledQuery, language: str) -> None:
        name = language if language in STEMMED_LANGUAGES else UNSTEMMED
        found = (g.condition for g in question.guards if name in g.languages)
        parts = dict.fromkeys(
            leaf
            for one in found
            for leaf, is_wanted in conditions.iterate_leaves(one)
            if is_wanted
        )
        # The plain texts of each part, to find it where a text is not analysed.
        self.words = tuple(_words(leaf) for leaf in [*parts][:MAX_WORDS])
        self._language = language
        self._idents: dict[str, int] = {}
        self._phrases: defaultdict[str, list[_Phrase]] = defaultdict(list)
        for part, leaf in enumerate(parts):
            for ident in _idents(leaf):
                self._idents.setdefault(ident, part)
            for places in _phrases(leaf):
                for term in sorted(places[0]):
                    self._phrases[term].append(_Phrase(places, part))

    def marks(self, text: str, facility: Facility) -> list[Mark]:
        """Return the marks of the wanted parts in a text, in order."""
        found: list[Mark] = []
        for mark in self._found(text, tokens.make_reader(self._language, facility)):
            found.append(mark)
            if len(found) == MAX_MARKS:
                break
        return sorted(found)

    def _found(self, text: str, reader: TokenReader) -> Iterator[Mark]:
        if not self._idents and not self._phrases:
            return
        begun: list[_Begun] = []
        for line in reader.lines(text):
            at = line.at
            for chunk, piece in zip(line.chunks, line.pieces, strict=True):
                # Most pieces have no wanted term and are not read word by word.
                if begun or self._begins_in(piece):
                    begun = yield from self._found_in(text, piece, at, begun)
                at += len(chunk) + 1

    def _begins_in(self, piece: TextPiece) -> bool:
        """Tell whether a piece has a wanted identifier or the beginning of a phrase."""
        if not self._phrases.keys().isdisjoint(piece.terms):
            return True
        return piece.has_idents and any(
            ident in self._idents for token in piece.tokens for ident in token.idents
        )

    def _found_in(
        self, text: str, piece: TextPiece, at: int, begun: list[_Begun]
    ) -> Generator[Mark, None, list[_Begun]]:
        """Yield the marks in a piece; return the phrases unfinished at its end."""
        for one_there in piece.tokens:
            token = one_there.moved(at)
            for ident in token.idents:
                part = self._idents.get(ident)
                if part is not None:
                    yield _of_ident(text, token, ident, part)
            starts = self._phrases.get(token.term, ())
            begun = [*begun, *(_Begun(phrase, token.start, 0) for phrase in starts)]
            going: list[_Begun] = []
            for one in begun:
                if token.term not in one.phrase.places[one.found]:
                    continue
                if one.found + 1 == len(one.phrase.places):
                    yield Mark(one.start, token.end, one.phrase.part)
                else:
                    going.append(one._replace(found=one.found + 1))
            begun = going
        return begun


def merged(marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the marked stretches, with overlapping marks as one."""
    told: list[tuple[int, int]] = []
    for start, end, _ in marks:
        if told and start <= told[-1][1]:
            told[-1] = (told[-1][0], max(end, told[-1][1]))
        else:
            told.append((start, end))
    return told


def _idents(leaf: conditions.Leaf) -> tuple[str, ...]:
    return leaf.idents if isinstance(leaf, conditions.Clause | conditions.OneOf) else ()


def _phrases(leaf: conditions.Leaf) -> list[tuple[frozenset[str], ...]]:
    match leaf:
        case conditions.Clause(lexemes=lexemes, also=also):
            phrases = (lexemes, *also)
            return [tuple(frozenset((x,)) for x in one) for one in phrases if one]
        case conditions.OneOf(terms=terms):
            return [(frozenset(terms),)] if terms else []
        case conditions.Places(places=places) if places and all(places):
            return [tuple(map(frozenset, places))]
        case _:
            return []


def _words(leaf: conditions.Leaf) -> tuple[str, ...]:
    """Return texts of a part that a plain comparison of characters may find."""
    words = [*_idents(leaf), *(min(one[0]) for one in _phrases(leaf))]
    if isinstance(leaf, conditions.Clause) and leaf.word is not None:
        words.append(leaf.word)
    return tuple(one.casefold() for one in words[:MAX_WORDS])


def _of_ident(text: str, token: Token, ident: str, part: int) -> Mark:
    # A single character of a script without blanks stands in a pair.
    at = text.find(ident, token.start, token.end) if len(ident) == 1 else -1
    if at < 0 or token.kind is not None:
        return Mark(token.start, token.end, part)
    return Mark(at, at + 1, part)
