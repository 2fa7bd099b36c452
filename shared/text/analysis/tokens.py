"""Text to tokens: one a position, each with its place in the original text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from shared.text.facility.facility import PLAIN, Facility
from shared.text.words import identifiers
from shared.text.words.character_runs import Runs, Token, contraction_length
from shared.text.words.folding import fold_surface, stem
from shared.times import date_tokens

# Characters that only look different, each read as one other: places stay the same.
_WIDE = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000\uff01-\uff5e]")
_NARROW: dict[int, str | int] = {
    **{0xFF01 + n: 0x21 + n for n in range(0x5E)},
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
}
_DIGITS = frozenset("0123456789")
# What was read once is kept, within these bounds, for every reader.
_MAX_KEPT, _MAX_KEPT_CHARS = 16_384, 48
_MAX_READERS = 64
# The length of a time of day written in digits alone.
_CLOCK_CHARS = len("0730")
_LONG_CHARS, _LONG_TOKENS = 2048, 512
# A line of megabytes is read in stretches: what it comes to fills no memory, and
# whoever has enough of it may stop. Each goes on while a name may, to a bound.
_STRETCH_CHARS, _MOST_WORDS_ON = 16_384, 64


class TextPiece(NamedTuple):
    """What stands between two blanks, read; places count from where it begins."""

    tokens: tuple[Token, ...]
    terms: tuple[str, ...]
    # Whether any of its tokens is found by more than its term.
    has_idents: bool = False
    # The word at its end, which may be a name with the number that follows.
    head: str | None = None
    begins_with_digit: bool = False
    # Its words as they are written, folded, each with its stem.
    words: tuple[tuple[str, str], ...] = ()


_NOTHING = TextPiece((), ())


class TokenLine(NamedTuple):
    """A line from its place in the text on: what stands between blanks, and read."""

    at: int
    chunks: list[str]
    pieces: list[TextPiece]


@functools.lru_cache(maxsize=_MAX_READERS)
def make_reader(language: str, facility: Facility = PLAIN) -> TokenReader:
    """Return the reader for texts of one language and one facility's words."""
    return TokenReader(language, facility)


def scan(text: str, language: str, facility: Facility = PLAIN) -> Iterator[Token]:
    """Yield the tokens of a text in order; total over any text."""
    return make_reader(language, facility).tokens(text)


class TokenReader:
    """Reads texts, and caches the pieces that it has read: most come again."""

    def __init__(self, language: str, facility: Facility) -> None:
        self.language = language
        self._facility = facility
        self._runs = Runs(language, facility.parts)
        self._known: dict[str, TextPiece] = {}
        self._older: dict[str, TextPiece] = {}

    def tokens(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text in order."""
        for line in self.lines(text):
            at = line.at
            for chunk, piece in zip(line.chunks, line.pieces, strict=True):
                for token in piece.tokens:
                    yield token.moved(at)
                at += len(chunk) + 1

    def lines(self, text: str) -> Iterator[TokenLine]:
        """Yield tokens line by line; a facility's own name is a line by itself."""
        if not text:
            return
        text = text.replace("\t", " ").replace("\r", " ")
        if not text.isascii():
            if _WIDE.search(text):
                text = text.translate(_NARROW)
            text = identifiers.normalise_hyphens(text)
        place = 0
        for name in self._facility.named(text) if self._facility.names else ():
            yield from self._lines(text[place : name.start], place)
            size = name.end - name.start
            token = Token(name.canonical, 0, size, name.idents, name.kind)
            yield TokenLine(
                name.start, [text[name.start : name.end]], [_piece((token,))]
            )
            place = name.end
        yield from self._lines(text[place:] if place else text, place)

    def _lines(self, text: str, at: int) -> Iterator[TokenLine]:
        for line in text.split("\n"):
            for stretch in _stretches(line):
                chunks = stretch.split(" ")
                if len(stretch) <= _LONG_CHARS or max(map(len, chunks)) <= _LONG_CHARS:
                    yield TokenLine(at, chunks, self._read_line(chunks))
                else:
                    yield from self._long_chunks(chunks, at)
                at += len(stretch) + 1

    def _read_line(self, chunks: list[str]) -> list[TextPiece]:
        """Return a piece for each chunk; an empty one where a name spans two."""
        found = list(map(self._known.get, chunks))
        pieces: list[TextPiece] = []
        before = _NOTHING
        for number, known in enumerate(found):
            piece = known or self._read(chunks[number])
            if piece.begins_with_digit:
                head, chunk = before.head, chunks[number]
                after = chunks[number + 1] if number + 1 < len(chunks) else ""
                if len(chunk) == _CLOCK_CHARS and date_tokens.is_told(
                    chunk, head, after
                ):
                    piece = _as_time(piece)
                elif head is not None:
                    joined = self._joined(before, chunks[number - 1], chunk, after)
                    if joined is not None:
                        pieces[-1] = joined
                        pieces.append(_NOTHING)
                        before = _NOTHING._replace(head=joined.head)
                        continue
                if head is not None:
                    piece = _with_loose_name(head, piece)
            pieces.append(piece)
            before = piece
        return pieces

    def _long_chunks(self, chunks: list[str], at: int) -> Iterator[TokenLine]:
        """Yield long stretches without blanks in parts, so that none fills memory."""
        for chunk in chunks:
            tokens = self._runs.tokens(chunk)
            while some := tuple(islice(tokens, _LONG_TOKENS)):
                yield TokenLine(at, [chunk], [_piece(some)])
            at += len(chunk) + 1

    def _joined(
        self, before: TextPiece, first: str, chunk: str, after: str
    ) -> TextPiece | None:
        """Return `HCM` and `03` as one piece, if they are one name."""
        head = before.head or ""
        size = identifiers.spaced_name_length(head, f"{chunk} {after}")
        used = size - len(head) - 1
        if not 0 < used <= len(chunk):
            return None
        # Only where the number ends depends on what comes after.
        key = f"{first} {chunk} {used}"
        piece = self._known.get(key)
        if piece is None:
            piece = self._make_joined(before, first, chunk, used)
            if piece is not None:
                self._keep(key, piece)
        return piece

    def _make_joined(
        self, before: TextPiece, first: str, chunk: str, used: int
    ) -> TextPiece | None:
        head = before.head or ""
        written = f"{head} {chunk[:used]}"
        name = identifiers.spaced_name(written)
        if name is None:
            return None
        # In a text all of capitals the word may be a word: it stays found as one.
        word = stem(fold_surface(head, self.language), self.language)
        start = len(first) - len(head)
        idents = tuple(sorted({*name.idents, word}))
        end = start + len(written)
        token = Token(name.canonical, start, end, idents, name.kind)
        used += contraction_length(chunk[used:])
        rest = self._read(chunk[used:])
        others = (one.moved(len(first) + 1 + used) for one in rest.tokens)
        return _piece((*before.tokens[:-1], token, *others), head=rest.head)

    def _read(self, chunk: str) -> TextPiece:
        kept = self._older.get(chunk)
        if kept is None:
            tokens = tuple(self._runs.tokens(chunk))
            head = None
            if tokens and tokens[-1].end == len(chunk) and tokens[-1].kind is None:
                head = identifiers.head_of_a_name(chunk, self._facility.no_names)
            digit = bool(chunk) and chunk[0] in _DIGITS
            kept = _piece(tokens, head=head, begins_with_digit=digit)
        self._keep(chunk, kept)
        return kept

    def _keep(self, chunk: str, piece: TextPiece) -> None:
        if len(chunk) > _MAX_KEPT_CHARS:
            return
        if len(self._known) >= _MAX_KEPT:
            # What is met again comes back from the older ones, the rest is forgotten.
            self._older = dict(self._known)
            self._known.clear()
        self._known[chunk] = piece


def _stretches(line: str) -> Iterator[str]:
    """Yield a line in stretches between blanks; no name is parted from its number."""
    begin = 0
    while len(line) - begin > _STRETCH_CHARS:
        end = line.find(" ", begin + _STRETCH_CHARS)
        for _ in range(_MOST_WORDS_ON):
            if not 0 <= end < len(line) - 1 or not _joins(line, end):
                break
            end = line.find(" ", end + 1)
        if end < 0:
            break
        yield line[begin:end]
        begin = end + 1
    yield line[begin:]


def _joins(line: str, blank: int) -> bool:
    """Tell whether a number beside a blank may belong to a name before it."""
    word = line.rfind(" ", 0, blank) + 1
    return line[word] in _DIGITS or line[blank + 1] in _DIGITS


def _piece(
    tokens: tuple[Token, ...],
    *,
    head: str | None = None,
    begins_with_digit: bool = False,
) -> TextPiece:
    return TextPiece(
        tokens,
        tuple(token.term for token in tokens),
        any(token.idents for token in tokens),
        head,
        begins_with_digit,
        tuple((token.surface, token.term) for token in tokens if token.surface),
    )


def _as_time(piece: TextPiece) -> TextPiece:
    """Return four digits as the time that they are."""
    (token,) = piece.tokens
    idents = date_tokens.idents_of(token.term)
    return _piece((token._replace(idents=idents, kind=date_tokens.TIME),))


def _with_loose_name(head: str, piece: TextPiece) -> TextPiece:
    first, *others = piece.tokens
    name = identifiers.loose_name(head, first.term)
    if name is None:
        return piece
    named = first._replace(idents=(*first.idents, name), loose=name)
    return piece._replace(tokens=(named, *others), has_idents=True)
