"""From a question to its tree: NOT binds tightest, then AND, OR weakest.

Syntax is never an error: what cannot be understood is searched as text or left out,
and a diagnostic says where. The time it takes grows with the length of the text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.jobs.outcome import Diagnostic
from shared.query.language import fields, scanner
from shared.query.language.calendar import NO_CLOCK, Clock
from shared.query.language.scanner import Piece
from shared.query.language.tree import (
    And,
    Field,
    Node,
    Not,
    Or,
    Parsed,
    Pattern,
    Phrase,
    Words,
)

# Brackets deeper than these are ignored: nobody thinks so, and engines have limits.
MAX_NESTING = 16

_SOURCE = "query"
# What was meant to narrow, and does not.
UNREAD = frozenset({"date_unreadable", "field_unreadable", "wildcard_refused"})


def parse(text: str, clock: Clock = NO_CLOCK) -> Parsed:
    """Return what a question asks for; never raises, whatever the text."""
    scanned = scanner.scan(text)
    notes = _Notes()
    if scanned.odd_quote is not None:
        message = "has no other to close it and is left out."
        notes.add("quotes_balanced", '"', scanned.odd_quote, message)
    pieces = _balanced(_without_refused(scanned.pieces, text, notes), notes)
    parser = _Parser(pieces, clock, notes)
    tree = parser.whole()
    return Parsed(tree, notes.listed())


@dataclass(slots=True)
class _Notes:
    """Diagnostics, one of a kind: the first place is named."""

    found: dict[str, Diagnostic] = field(default_factory=dict)

    def add(self, code: str, written: str, start: int, message: str) -> None:
        note = Diagnostic(
            level="warning" if code in UNREAD else "info",
            source=_SOURCE,
            code=code,
            message=f"{written[:40]} at character {start + 1} {message}",
            category="query",
        )
        self.found.setdefault(code, note)

    def listed(self) -> tuple[Diagnostic, ...]:
        return tuple(self.found.values())


def _without_refused(pieces: Sequence[Piece], text: str, notes: _Notes) -> list[Piece]:
    """Say of each sign that stands for nothing why, and leave out what is only that."""
    for one in pieces:
        if one.is_refused:
            why = (
                "has a ? that stands for a character in names alone, such as HCM0?;"
                " it is searched as text."
                if one.text
                else "stands for every word there is and is left out."
            )
            notes.add("wildcard_refused", text[one.start : one.end], one.start, why)
    return [one for one in pieces if one.text or not one.is_refused]


def _balanced(pieces: Sequence[Piece], notes: _Notes) -> list[Piece]:
    """Leave out brackets that have no other, or stand too deep."""
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
    if gone:
        first = pieces[min(gone)]
        message = "has no other, or stands too deep, and is ignored."
        notes.add("brackets_ignored", first.text, first.start, message)
    left_out = set(gone)
    return [one for number, one in enumerate(pieces) if number not in left_out]


@dataclass(slots=True)
class _Parser:
    """Reads pieces in order; as deep as brackets nest, which is bounded."""

    pieces: Sequence[Piece]
    clock: Clock
    notes: _Notes
    place: int = 0

    def whole(self) -> Node | None:
        return self._any_of()

    def _next(self) -> Piece | None:
        return self.pieces[self.place] if self.place < len(self.pieces) else None

    def _any_of(self) -> Node | None:
        """Read up to the bracket that closes, or to the end."""
        options: list[Node] = []
        pending: Piece | None = None
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
            # An OR: nothing else ends what is joined by AND.
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
        joined: Piece | None = None
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
        """Read one thing with the NOTs before it; None where there is none."""
        negated: list[Piece] = []
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
        return part.part if isinstance(part, Not) else Not(part)

    def _group(self) -> Node | None:
        self.place += 1
        part = self._any_of()
        # Every bracket that is left has its other.
        self.place += 1
        return part

    def _leaf(self, *, is_negated: bool) -> Node | None:
        piece = self.pieces[self.place]
        self.place += 1
        if piece.kind == "phrase":
            text = piece.text.strip()
            return Phrase(text, piece.start) if text else None
        if piece.kind == "pattern":
            return Pattern(piece.text, piece.start)
        if piece.kind == "field":
            found = self._field(piece)
            if found is not None:
                return found
        return self._words(piece, alone=is_negated)

    def _words(self, first: Piece, *, alone: bool) -> Words:
        """Read neighbouring words together; NOT takes one of them."""
        texts = [_written(first)]
        while not alone and (piece := self._next()) and piece.kind == "word":
            texts.append(piece.text)
            self.place += 1
        return Words(" ".join(texts), first.start)

    def _field(self, piece: Piece) -> Field | None:
        """Read a field, a date with the words that belong to it; None: it is text."""
        following: list[Piece] = []
        if piece.name in fields.DATES and not piece.is_quoted:
            for one in self.pieces[self.place : self.place + fields.MORE_WORDS]:
                if one.kind != "word":
                    break
                following.append(one)
        for count in range(len(following), -1, -1):
            value = " ".join([piece.text, *(one.text for one in following[:count])])
            filters = fields.read(piece.name, value, self.clock)
            if filters is not None:
                self.place += count
                written = " ".join(
                    [_written(piece), *(one.text for one in following[:count])]
                )
                return Field(filters, piece.start, piece.name, written)
        is_date = piece.name in fields.DATES
        code = "date_unreadable" if is_date else "field_unreadable"
        message = "cannot be read as a field; it is searched as text."
        self.notes.add(code, _written(piece), piece.start, message)
        return None

    def _dangles(self, piece: Piece) -> None:
        message = "has nothing to join and is left out."
        self.notes.add("operator_ignored", piece.text, piece.start, message)


def _written(piece: Piece) -> str:
    if piece.kind != "field":
        return piece.text
    quote = '"' if piece.is_quoted else ""
    return f"{piece.name}:{quote}{piece.text}{quote}"


def _and(parts: Sequence[Node], *, is_written: bool) -> Node | None:
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, And) and part.is_written == is_written:
            flat += part.parts
        else:
            flat.append(part)
    return And(tuple(flat), is_written) if len(flat) > 1 else next(iter(flat), None)


def _or(options: Sequence[Node]) -> Node | None:
    flat: list[Node] = []
    for option in options:
        flat += option.parts if isinstance(option, Or) else (option,)
    return Or(tuple(flat)) if len(flat) > 1 else next(iter(flat), None)
