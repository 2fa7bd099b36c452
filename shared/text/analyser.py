"""What both engines are filled from: one stream of terms, and the idents beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shared.text.folding import MAX_TOKEN_CHARS, fold
from shared.text.tokens import Token, scan

ANALYSER_VERSION = 1

# Which section holds the text itself.
_TEXT = 1
SECTION_GAP = 100
MAX_POSITIONED_TOKENS = 16_000
# Postgres keeps no higher position, and no more of them for one lexeme.
_LAST_POSITION = 16_383
MAX_OCCURRENCES = 255
MAX_LEXEME_BYTES = 900_000
# What a lexeme costs in a tsvector beside its own bytes, and what each position does.
_ENTRY_BYTES, _POSITION_BYTES = 4, 2

# A text of nothing but names does not fill the entry with them.
MAX_NAMES = 256

# Stands where an occurrence was left out; no term is spelled so.
FILLER = "_"
IDENT_PREFIX = "i:"

_PLAIN_WORD = re.compile(r"[^\W_]{1,128}")


@dataclass(frozen=True, slots=True)
class Sections:
    """The parts of an entry, none of whose phrases runs into the next."""

    title: str = ""
    text: str = ""
    tags: Sequence[str] = ()
    authors: Sequence[str] = ()

    def texts(self) -> list[str]:
        """Return the sections in the order of the stream."""
        # A line each: no phrase joins two tags.
        return [self.title, self.text, "\n".join(self.tags), "\n".join(self.authors)]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A row of `entry_text`: sections are lines of the stream, 100 positions apart."""

    stream: str
    idents: list[str]
    tsvector_literal: str
    # What the text itself, apart from its title and lists, calls by name.
    names: tuple[Token, ...] = ()
    plain: bool = False
    # Past the size that Postgres takes, the rest was left out.
    cut: bool = False


def analyse(sections: Sections, language: str) -> Analysis:
    """Return what a text is found by; total, and bounded whatever comes."""
    return _built([scan(text, language) for text in sections.texts()], plain=False)


def plain_split(sections: Sections) -> Analysis:
    """Return letters and digits in lower case: what is left when analysis fails."""
    return _built([_plain(text) for text in sections.texts()], plain=True)


def _plain(text: str) -> Iterable[Token]:
    for match in _PLAIN_WORD.finditer(text):
        folded = fold(match[0])
        if folded:
            yield Token(folded, match.start(), match.end())


@dataclass(slots=True)
class _Builder:
    lines: list[list[str]] = field(default_factory=list)
    positions: dict[str, list[int]] = field(default_factory=dict)
    idents: dict[str, None] = field(default_factory=dict)
    rest: dict[str, None] = field(default_factory=dict)
    names: list[Token] = field(default_factory=list)
    size: int = 0
    position: int = 0
    tokens: int = 0
    cut: bool = False

    @property
    def is_full(self) -> bool:
        """Whether nothing of what is still to come could be kept."""
        return self.cut and self.tokens > MAX_POSITIONED_TOKENS

    def add(self, token: Token) -> None:
        for ident in token.idents:
            if ident not in self.idents and self._fits(ident, IDENT_PREFIX):
                self.idents[ident] = None
        term = token.term[:MAX_TOKEN_CHARS]
        self.position += 1
        self.tokens += 1
        if self.tokens > MAX_POSITIONED_TOKENS or self.position > _LAST_POSITION:
            self._add_rest(term)
            return
        known = self.positions.get(term)
        if known is None:
            if not self._fits(term):
                self.lines[-1].append(FILLER)
                return
            known = self.positions[term] = []
        if len(known) >= MAX_OCCURRENCES:
            self.lines[-1].append(FILLER)
            return
        known.append(self.position)
        self.size += _POSITION_BYTES
        self.lines[-1].append(term)

    def _add_rest(self, term: str) -> None:
        """Keep a late term alone: it is found, but no phrase runs over it."""
        if term in self.positions or term in self.rest or not self._fits(term):
            return
        self.rest[term] = None

    def _fits(self, term: str, prefix: str = "") -> bool:
        size = len(prefix) + len(term.encode()) + _ENTRY_BYTES
        if self.size + size > MAX_LEXEME_BYTES:
            self.cut = True
            return False
        self.size += size
        return True


def _built(sections: Iterable[Iterable[Token]], *, plain: bool) -> Analysis:
    builder = _Builder()
    for number, tokens in enumerate(sections):
        builder.lines.append([])
        if builder.position:
            builder.position += SECTION_GAP
        for token in tokens:
            if builder.is_full:
                break
            builder.add(token)
            if number == _TEXT and token.kind and len(builder.names) < MAX_NAMES:
                builder.names.append(token)
    lines = [" ".join(line) for line in builder.lines if line]
    return Analysis(
        stream="\n".join([*lines, *builder.rest]),
        idents=sorted(builder.idents),
        tsvector_literal=_literal(builder),
        names=tuple(builder.names),
        plain=plain,
        cut=builder.cut,
    )


def _literal(builder: _Builder) -> str:
    parts = [
        f"{quoted(term)}:{','.join(map(str, positions))}"
        for term, positions in builder.positions.items()
    ]
    parts += [quoted(term) for term in builder.rest]
    parts += [quoted(IDENT_PREFIX + ident) for ident in builder.idents]
    return " ".join(parts)


def quoted(lexeme: str) -> str:
    """Return a lexeme as `tsvector` and `tsquery` input reads it literally."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
