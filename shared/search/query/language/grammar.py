"""From a question to its tree: NOT binds tightest, then AND, OR weakest.

Syntax is never an error: what cannot be understood is searched as text or left out,
and a diagnostic says where. The time it takes grows with the length of the text alone.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from shared.search.jobs.outcome import Diagnostic
from shared.search.query.filters.filters import QUANTITY
from shared.search.query.language import field_filters, ranges, scanner, tree
from shared.search.query.language.scanner import QueryToken
from shared.search.query.language.tree import Node, Words
from shared.text.facts import METADATA
from shared.text.words.identifiers import normalise_hyphens
from shared.times.calendar import NO_CLOCK, Clock

# Brackets deeper than these are ignored: nobody thinks so, and engines have limits.
MAX_NESTING = 16
# How many diagnostics of one kind are told: who pastes a log wants no list of its
# brackets.
MAX_NOTES = 5

# `current>300`, `<`: a comparison in plain words; arrows and brackets are none.
_COMPARED = re.compile(
    r"(?P<before>(?:[^\W\d_]\w*)?)(?P<size>(?P<sign>[<>\u2264\u2265])=?[^<>\u2264\u2265]*)"
)
# Signs that other search boxes take for AND, OR and NOT.
_FOREIGN_OPERATOR = re.compile(r"(?:&&|\|\|?)$|!(?=\w)")
_ARROWS = frozenset("-=<>")
_MORE_OF_A_SIZE = 3
_PUNCTUATION = ",.;!?"
# Diagnostics of signs that were meant to narrow the search and do not.
UNREAD = frozenset(
    {"date_unreadable", "field_unreadable", "operator_foreign", "wildcard_refused"}
)


def parse(text: str, clock: Clock = NO_CLOCK) -> tree.Parsed:
    """Parse a question to a tree and diagnostics; never raises, whatever the text."""
    text = normalise_hyphens(text)
    scanned = scanner.scan(text)
    notes = _Notes()
    if scanned.odd_quote is not None:
        message = "has no other to close it and is left out."
        notes.add("quotes_balanced", '"', scanned.odd_quote, message)
    pieces = _balanced(_without_refused(scanned.pieces, text, notes), notes)
    parser = _Parser(text, pieces, clock, notes)
    return tree.Parsed(parser.any_of(), tuple(notes.found.values()))


@dataclass(slots=True)
class _Notes:
    """Collects diagnostics: one for each kind and place, the first few of a kind."""

    found: dict[tuple[str, int], Diagnostic] = field(default_factory=dict)
    amounts: Counter[str] = field(default_factory=Counter)

    def add(self, code: str, written: str, start: int, message: str) -> None:
        if (code, start) in self.found or self.amounts[code] == MAX_NOTES:
            return
        self.amounts[code] += 1
        level: Literal["info", "warning"] = "warning" if code in UNREAD else "info"
        said = f"{written[:40]} at character {start + 1} {message}"
        self.found[code, start] = Diagnostic(level, "query", code, said, "query")


def _without_refused(
    pieces: Sequence[QueryToken], text: str, notes: _Notes
) -> list[QueryToken]:
    """Note why signs have no meaning here, and leave out pieces that are such signs."""
    for one in pieces:
        if one.kind == "stray":
            message = "negates nothing and is left out."
            notes.add("operator_ignored", one.text, one.start, message)
        if one.kind == "word" and _FOREIGN_OPERATOR.match(one.text):
            message = "is text and no operator; write AND, OR, NOT or a minus."
            notes.add("operator_foreign", one.text, one.start, message)
        if one.is_refused:
            why = (
                "has a ? that stands for a character in names alone, such as HCM0?;"
                " it is searched as text."
                if one.text
                else "stands for every word there is and is left out."
            )
            notes.add("wildcard_refused", text[one.start : one.end], one.start, why)
    return [
        one
        for one in pieces
        if one.kind != "stray" and (one.text or not one.is_refused)
    ]


def _balanced(pieces: Sequence[QueryToken], notes: _Notes) -> list[QueryToken]:
    """Leave out brackets without a partner, and those that are nested too deep."""
    open_ones: list[int] = []
    gone: list[int] = []
    for number, piece in enumerate(pieces):
        if piece.kind == "open":
            open_ones.append(number)
        elif piece.kind == "close":
            if not open_ones:
                gone.append(number)
            elif len(open_ones) > MAX_NESTING:
                gone += [open_ones.pop(), number]
            else:
                open_ones.pop()
    gone += open_ones
    for number in sorted(gone):
        one = pieces[number]
        message = "has no other, or stands too deep, and is ignored."
        notes.add("brackets_ignored", one.text, one.start, message)
    left_out = set(gone)
    return [one for number, one in enumerate(pieces) if number not in left_out]


@dataclass(slots=True)
class _Parser:
    """Parses the pieces of a question by descent, as deep as brackets may nest."""

    text: str
    pieces: Sequence[QueryToken]
    clock: Clock
    notes: _Notes
    place: int = 0

    def _next(self) -> QueryToken | None:
        return self.pieces[self.place] if self.place < len(self.pieces) else None

    def any_of(self) -> Node | None:
        """Read up to the bracket that closes, or to the end."""
        options: list[Node] = []
        pending: QueryToken | None = None
        while True:
            option = self._all_of()
            piece = self._next()
            if option is not None:
                options.append(option)
                pending = None
            elif pending is not None:
                self._dangles(pending)
            if piece is None or piece.kind == "close":
                break
            # It is an OR, for nothing else ends parts that are joined by AND.
            if option is None and not options:
                self._dangles(piece)
            else:
                pending = piece
            self.place += 1
        if pending is not None:
            self._dangles(pending)
        return _or(options)

    def _all_of(self) -> Node | None:
        parts: list[Node] = []
        joined: QueryToken | None = None
        is_written = False
        while (piece := self._next()) and piece.kind not in {"or", "close"}:
            if piece.kind == "and":
                if joined is not None or not parts:
                    self._dangles(piece)
                else:
                    joined = piece
                self.place += 1
                continue
            part = self._one()
            if part is None:
                continue
            if joined is not None:
                is_written, joined = True, None
            parts.append(part)
        if joined is not None:
            self._dangles(joined)
        return _and(parts, is_written=is_written)

    def _one(self) -> Node | None:
        """Read one part with the NOTs before it; None where no part stands there."""
        negated: list[QueryToken] = []
        while (piece := self._next()) and piece.kind == "not":
            negated.append(piece)
            self.place += 1
        piece = self._next()
        if piece is None or piece.kind in {"and", "or", "close"}:
            for one in negated:
                self._dangles(one)
            return None
        part = (
            self._group()
            if piece.kind == "open"
            else self._leaf(is_negated=bool(negated))
        )
        if part is None or len(negated) % 2 == 0:
            return part
        return part.part if isinstance(part, tree.Not) else tree.Not(part)

    def _group(self) -> Node | None:
        self.place += 1
        part = self.any_of()
        # Every bracket that is left has its partner.
        self.place += 1
        return part

    def _leaf(self, *, is_negated: bool) -> Node | None:
        piece = self.pieces[self.place]
        if piece.kind == "word" and not is_negated and (size := self._size()):
            return size
        self.place += 1
        if piece.kind == "phrase":
            text = piece.text.strip()
            return tree.Phrase(text, piece.start) if text else None
        if piece.kind == "pattern":
            return tree.Pattern(piece.text, piece.start)
        if piece.kind == "field":
            found = self._field(piece)
            if found is not None:
                return found
        return self._words(piece, alone=is_negated)

    def _words(self, first: QueryToken, *, alone: bool) -> Words:
        """Read neighbouring words together; NOT takes one of them."""
        texts = [_written(first)]
        while not alone and (piece := self._next()) and piece.kind == "word":
            if self._compared(self.place):
                break
            texts.append(piece.text)
            self.place += 1
        return Words(" ".join(texts), first.start)

    def _field(self, piece: QueryToken) -> tree.Field | None:
        """Read a field with the next words of its value; None: it is plain text."""
        counts = range(1) if piece.is_quoted else field_filters.counts(piece.name)
        following = self._words_from(self.place, max(counts))
        for count in counts:
            if count > len(following):
                continue
            value = " ".join([piece.text, *following[:count]])
            goes_on = count > 0
            filters = field_filters.parse_field(
                piece.name, value, self.clock, goes_on=goes_on
            )
            if filters and ranges.is_cut(filters.ranges, following[count:]):
                break
            if filters is not None:
                self.place += count
                written = " ".join([_written(piece), *following[:count]])
                return tree.Field(filters, piece.start, piece.name, written)
        is_date = piece.name in field_filters.DATES
        code = "date_unreadable" if is_date else "field_unreadable"
        message = "cannot be read as a field; it is searched as text."
        if is_date and field_filters.is_swapped(piece.text, self.clock):
            message += " Its ends are swapped: the earlier one is first."
        if piece.name.startswith(METADATA) and ranges.is_meant(piece.text):
            message += " Ends are numbers without a unit, or dates; the lower is first."
        self.notes.add(code, _written(piece), piece.start, message)
        return None

    def _words_from(self, place: int, most: int) -> list[str]:
        """Return the words that stand side by side from a place on, at most so many."""
        found = self.pieces[place : place + most]
        return [one.text for one in takewhile(lambda one: one.kind == "word", found)]

    def _size(self) -> Node | None:
        """Read `> 1e-7 Torr` as a field, with the word that it is joined to."""
        found = self._compared(self.place)
        if found is None:
            return None
        before, size, count = found
        start = self.pieces[self.place].start
        self.place += count
        message = "is read as a field; in quotes it is words."
        self.notes.add("quantity_read", size.written, size.start, message)
        return tree.And((Words(before, start), size)) if before else size

    def _compared(self, place: int) -> tuple[str, tree.Field, int] | None:
        """Read a comparison: the word before its sign, a field, the number of words.

        Behind a NOT there is no comparison: it excludes the word and bounds nothing.
        """
        piece = self.pieces[place]
        match = _COMPARED.fullmatch(piece.text)
        start = piece.start + (match.start("sign") if match else 0)
        if match is None or self.text[start - 1 : start] in _ARROWS:
            return None
        is_negated = place > 1 and self.pieces[place - 2].kind == "not"
        is_negated &= not match["before"]
        following = self._words_from(place + 1, _MORE_OF_A_SIZE)
        for count in range(0 if is_negated else len(following) + 1):
            value = " ".join([match["size"], *following[:count]]).rstrip(_PUNCTUATION)
            filters = field_filters.parse_field(QUANTITY, value, self.clock)
            if filters is not None:
                field = tree.Field(filters, start, QUANTITY, f'{QUANTITY}:"{value}"')
                return match["before"], field, 1 + count
        if match["size"][-1].isdigit() or (following[:1] and following[0][0].isdigit()):
            message = f"compares nothing here and is text; write {QUANTITY}:>1e-7Torr."
            self.notes.add("comparison_ignored", match["size"], start, message)
        return None

    def _dangles(self, piece: QueryToken) -> None:
        message = "has nothing to join and is left out."
        self.notes.add("operator_ignored", piece.text, piece.start, message)


def _written(piece: QueryToken) -> str:
    if piece.kind != "field":
        return piece.text
    quote = '"' if piece.is_quoted else ""
    return f"{piece.name}:{quote}{piece.text}{quote}"


def _and(parts: Sequence[Node], *, is_written: bool) -> Node | None:
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, tree.And) and part.is_written == is_written:
            flat += part.parts
        else:
            flat.append(part)
    return (
        tree.And(tuple(flat), is_written) if len(flat) > 1 else next(iter(flat), None)
    )


def _or(options: Sequence[Node]) -> Node | None:
    flat: list[Node] = []
    for option in options:
        flat += option.parts if isinstance(option, tree.Or) else (option,)
    return tree.Or(tuple(flat)) if len(flat) > 1 else next(iter(flat), None)
