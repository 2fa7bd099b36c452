"""A question cut into its pieces, each with its place; total over any text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from shared.search.query.filters import filters
from shared.text.facts import METADATA
from shared.text.reading import quantities

Kind = Literal[
    "word", "phrase", "pattern", "field", "and", "or", "not", "open", "close", "stray"
]

FIELDS = frozenset(
    (
        *filters.FACTS,
        *("after", "author", "before", "date", "from", "has", "id", "logbook"),
        *("quantity", "since", "source", "thread", "until"),
        # Other names that requests use.
        *filters.ALIASES,
    )
)
# Signs that a phone or a word processor makes of `"`, `-`, `(` and `)`.
_QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02'
_MINUS = "-\u2212\u2013\uff0d"
_OPEN, _CLOSE = "(\uff08", ")\uff09"
_ENDS = rf"\s{_QUOTES}{_OPEN}{_CLOSE}"

_QUOTE = re.compile(f"[{_QUOTES}]")
_BLANK = re.compile(r"\s++")
_DASHES = re.compile(f"[{_MINUS}]++")
_WORD = re.compile(f"[^{_ENDS}]++")
_NAME = rf"metadata\.[^:{_ENDS}]++|[a-z_]++"
_FIELD = re.compile(rf"(?P<name>{_NAME}):(?:(?P<quote>[{_QUOTES}])|(?=[^{_ENDS}]))")
_OPERATORS: dict[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}
_NAMED = re.compile(r"[\d:_.\-]")
# What compares leaves its sign to the number behind it: `dewpoint < -40 \u00b0C`.
_COMPARES = re.compile(
    r"(?:[<>=\u2264\u2265]|\b(?:above|at|below|between|than|to"
    r"|als|auf|bei|bis|\u00fcber|unter|zwischen))\s?$",
    re.IGNORECASE,
)
_REACH = 40


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A word, an operator or a bracket, the value of a field, or a quoted phrase."""

    kind: Kind
    text: str
    start: int
    end: int
    # The name of the field, where the piece is one.
    name: str = ""
    # A value in quotes stands alone; one without may go on in the next words.
    is_quoted: bool = False
    # A `*` or `?` in it stands for nothing here.
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """The pieces of a question, and the place of a quote without a partner."""

    pieces: tuple[QueryToken, ...]
    odd_quote: int | None


def scan(text: str) -> Scanned:
    """Cut a question into pieces; the last of an odd number of quotes is a blank."""
    quotes = [match.start() for match in _QUOTE.finditer(text)]
    odd = quotes.pop() if len(quotes) % 2 else None
    closing = dict(zip(quotes[::2], quotes[1::2], strict=True))
    return Scanned(tuple(_pieces(text, closing)), odd)


def _pieces(text: str, closing: dict[int, int]) -> Iterator[QueryToken]:
    last = max((n for n, sign in enumerate(text) if sign.isalnum()), default=0)
    ends = len(text) - len(text.lstrip()), last
    place = 0
    while place < len(text):
        piece = _piece(text, place, closing)
        if piece is None:
            blank = _BLANK.match(text, place)
            place = blank.end() if blank else place + 1
            continue
        if piece.kind == "word" and piece.text:
            piece = _of_word(piece, ends)
        if piece.kind != "word" or piece.text or piece.is_refused:
            yield piece
        place = piece.end


def _piece(text: str, place: int, closing: dict[int, int]) -> QueryToken | None:
    """Return the piece that begins at a place, or None where no piece does."""
    first = text[place]
    if place in closing:
        end = closing[place]
        phrase = text[place + 1 : end]
        if phrase.strip() and not phrase.strip(" *"):
            # A quoted `*` alone stands for every word, so it is refused.
            return QueryToken("word", "", place, end + 1, is_refused=True)
        return QueryToken("phrase", phrase, place, end + 1)
    if first in _OPEN or first in _CLOSE:
        kind: Kind = "open" if first in _OPEN else "close"
        return QueryToken(kind, first, place, place + 1)
    word = _WORD.match(text, place)
    if word is None:
        return None
    if first in _MINUS and not _is_sign(text, place):
        if _is_minus(text, place):
            return QueryToken("not", first, place, place + 1)
        dashes = _DASHES.match(text, place)
        if dashes is None or len(dashes[0]) == 1:
            # One dash alone stands between words; several were meant to be a sign.
            return None
        return QueryToken("stray", dashes[0], place, dashes.end())
    field = _field(text, place, closing)
    return field or QueryToken("word", word[0], place, word.end())


def _is_minus(text: str, place: int) -> bool:
    """Tell whether a minus stands before a thing and not between two."""
    if place + 1 == len(text):
        return False
    before, after = text[place - 1 : place], text[place + 1]
    if before and not (before.isspace() or before in _OPEN):
        return False
    return after.isalnum() or after in f"_{_QUOTES}{_OPEN}"


def _is_sign(text: str, place: int) -> bool:
    """Tell whether a minus is that of a number: of a size, or of what is compared."""
    before, said = text[max(place - _REACH, 0) : place], text[place : place + _REACH]
    if not said[1:2].isdigit() or (before and before[-1].isalnum()):
        return False
    if _COMPARES.search(before):
        return True
    size = next(quantities.find_quantities(said), None)
    return size is not None and size.start == 0


def _field(text: str, place: int, closing: dict[int, int]) -> QueryToken | None:
    match = _FIELD.match(text, place)
    if match is None:
        return None
    name, begins = match["name"], match.end()
    if name not in FIELDS and not name.startswith(METADATA):
        return None
    end = closing.get(begins - 1) if match["quote"] else None
    if end is not None:
        return QueryToken(
            "field", text[begins:end], place, end + 1, name, is_quoted=True
        )
    value = _WORD.match(text, begins)
    return QueryToken("field", value[0], place, value.end(), name) if value else None


def _of_word(piece: QueryToken, ends: tuple[int, int]) -> QueryToken:
    """Return a word as an operator or a pattern, or the word without its `?`.

    `ends` are where the question begins, and its last letter or digit.
    """
    word = piece.text
    bare = word.rstrip("?")
    if bare in _OPERATORS:
        return replace(piece, kind=_OPERATORS[bare])
    asks = len(word) - len(bare)
    is_alone = piece.start <= ends[0] and ends[1] < piece.end
    is_asked = asks == 1 and ends[1] < piece.end and not is_alone
    has_wild = "?" in bare or (asks and not is_asked)
    tells = any(sign.isalnum() for sign in word)
    if "*" in word or (has_wild and _NAMED.search(bare)):
        if tells:
            return replace(piece, kind="pattern")
        return replace(piece, text="", is_refused="*" in word)
    # Only a name may have a `?` within it; at the end of a word it asks.
    return replace(piece, text=bare, is_refused=tells and "?" in bare)
