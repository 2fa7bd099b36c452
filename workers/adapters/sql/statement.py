"""A statement of the settings: one SELECT, its parameters bound and never pasted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ParamStyle = Literal["named", "pyformat"]

PARAMETERS = frozenset({"since", "until", "id", "limit"})

_NAME = re.compile(r"[A-Za-z_]\w*+")
_DOLLAR = re.compile(r"\$(?:[A-Za-z_]\w*+)?\$")
_FIRST_WORD = re.compile(r"\s*+(\w*+)")
# What begins text that is no statement, and what ends it.
_QUOTES = {"'": "'", '"': '"', "`": "`", "--": "\n", "/*": "*/"}
_COMMENTS = ("--", "/*")


@dataclass(frozen=True, slots=True)
class StatementPiece:
    """A stretch of a statement: code, a quotation or comment, or a parameter."""

    kind: Literal["code", "quoted", "comment", "parameter"]
    text: str


class Statement:
    """One statement and the parameters that it names."""

    def __init__(self, text: str) -> None:
        self._pieces = tuple(_pieces(text))
        self.parameters = frozenset(
            piece.text for piece in self._pieces if piece.kind == "parameter"
        )
        self._check(text)

    def written(self, style: ParamStyle) -> str:
        """Return the statement as a driver wants its parameters."""
        return "".join(_written(piece, style) for piece in self._pieces)

    def _check(self, text: str) -> None:
        if unknown := sorted(self.parameters - PARAMETERS):
            known = ", ".join(f":{name}" for name in sorted(PARAMETERS))
            raise ValueError(f":{unknown[0]} is no parameter; there are {known}")
        code = "".join(
            piece.text
            if piece.kind == "code"
            else "\x00"
            if piece.kind != "comment"
            else " "
            for piece in self._pieces
        ).strip()
        first = _FIRST_WORD.match(code.lstrip("( \n\t"))
        if first is None or first[1].upper() not in {"SELECT", "WITH"}:
            raise ValueError(
                f"a statement begins with SELECT or WITH, and not as {text[:40]!r}"
            )
        if ";" in code.rstrip("; \n\t"):
            raise ValueError("there may be one statement only; take out the semicolon")


def _pieces(text: str) -> Iterator[StatementPiece]:
    start = position = 0
    while position < len(text):
        piece = _special(text, position)
        if piece is None:
            position += 1
            continue
        kind, end = piece
        if start < position:
            yield StatementPiece("code", text[start:position])
        if kind == "cast":
            yield StatementPiece("code", text[position:end])
        elif kind == "parameter":
            yield StatementPiece("parameter", text[position + 1 : end])
        else:
            yield StatementPiece(
                "comment" if kind == "comment" else "quoted", text[position:end]
            )
        start = position = end
    if start < len(text):
        yield StatementPiece("code", text[start:])


def _special(text: str, position: int) -> tuple[str, int] | None:
    """Return kind and end of a quotation, comment, cast or parameter, if one begins."""
    here = text[position]
    if here == ":":
        if text.startswith("::", position):
            return "cast", position + 2
        found = _NAME.match(text, position + 1)
        # A slice of an array, as in `a[1:n]`, is no parameter of ours either.
        return ("parameter", found.end()) if found else None
    if here == "$":
        found = _DOLLAR.match(text, position)
        return ("quoted", _end(text, found[0], found.end())) if found else None
    for mark, closing in _QUOTES.items():
        if text.startswith(mark, position):
            kind = "comment" if mark in _COMMENTS else "quoted"
            return kind, _end(text, closing, position + len(mark))
    return None


def _end(text: str, closing: str, start: int) -> int:
    # A doubled quote ends one quotation and begins the next, which is the same.
    found = text.find(closing, start)
    return len(text) if found < 0 else found + len(closing)


def _written(piece: StatementPiece, style: ParamStyle) -> str:
    if piece.kind == "parameter":
        return f":{piece.text}" if style == "named" else f"%({piece.text})s"
    if piece.kind == "comment":
        return " "
    return piece.text.replace("%", "%%") if style == "pyformat" else piece.text
