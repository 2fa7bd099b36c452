"""What both engines are filled from: one stream of terms, and the idents beside it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from shared.text.analysis.tokens import TextPiece, TokenLine, make_reader
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words.character_runs import Token
from shared.text.words.folding import fold

# Raised with every change of what a text comes to.
_VERSION = 13

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

# No character comes to more bytes of lexemes, names with all their parts included.
_MOST_BYTES_A_CHARACTER = 64

# A text of nothing but names does not fill the entry with them.
MAX_NAMES = 256

# Stands where an occurrence was left out; no term is spelled so.
FILLER = "_"
IDENT_PREFIX = "i:"
# What a lexeme stands between.
_QUOTES = "''"

_TERMS, _HAS_IDENTS = attrgetter("terms"), attrgetter("has_idents")
_WORDS = attrgetter("words")
_PLAIN_WORD = re.compile(r"[^\W_]{1,128}")


@dataclass(frozen=True, slots=True)
class Sections:
    """The parts of an entry, none of whose phrases runs into the next."""

    title: str = ""
    text: str = ""
    tags: Sequence[str] = ()
    authors: Sequence[str] = ()
    # What stages have found, in words that the text may not have.
    found: Sequence[str] = ()
    # Name, caption and text of each file.
    attachments: Sequence[str] = ()

    def texts(self) -> list[str]:
        """Return the sections in the order of the stream."""
        # A line each: no phrase joins two tags.
        lists = "\n".join(self.tags), "\n".join(self.authors)
        # Where there is none, positions are what they were.
        found = ["\n".join(self.found)] if self.found else []
        return [self.title, self.text, *lists, *found, *self.attachments]


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
    # What the vocabulary knows of it: words as they are written, folded, and stems.
    words: Mapping[str, str] = field(default_factory=dict)


def version_of(facility: Facility) -> int:
    """Return which analyser this is: another one reads every text anew."""
    return facility.fingerprint << 8 | _VERSION


def analyse(sections: Sections, language: str, facility: Facility = PLAIN) -> Analysis:
    """Return the terms that find a text; never fails, and is bounded for any text."""
    texts = sections.texts()
    read = make_reader(language, facility).lines
    return _built(map(read, texts), is_small=_is_small(texts), plain=False)


def plain_split(sections: Sections) -> Analysis:
    """Return letters and digits in lower case: what is left when analysis fails."""
    texts = sections.texts()
    return _built(map(_plain, texts), is_small=_is_small(texts), plain=True)


def words_of(
    sections: Sections, language: str, facility: Facility = PLAIN
) -> dict[str, str]:
    """Return the words of an analysis alone: as they are written, and their stems."""
    if not _is_small(sections.texts()):
        # What is cut there is no word here either, and the reading ends with it.
        return dict(analyse(sections, language, facility).words)
    read = make_reader(language, facility).lines
    words: dict[str, str] = {}
    for line in chain.from_iterable(map(read, sections.texts())):
        words.update(chain.from_iterable(map(_WORDS, line.pieces)))
    return words


def plain_words(sections: Sections) -> dict[str, str]:
    """Return the words of a plain split alone."""
    if not _is_small(sections.texts()):
        return dict(plain_split(sections).words)
    lines = chain.from_iterable(map(_plain, sections.texts()))
    return {word: stem for line in lines for word, stem in line.pieces[0].words}


def _plain(text: str) -> Iterator[TokenLine]:
    for match in _PLAIN_WORD.finditer(text):
        folded = fold(match[0])
        if folded:
            words = () if folded.isdigit() else ((folded, folded),)
            yield TokenLine(
                match.start(), [match[0]], [TextPiece((), (folded,), words=words)]
            )


@dataclass(slots=True)
class _Builder:
    lines: list[str] = field(default_factory=list)
    # Each term as it stands in the tsvector, with its positions.
    entries: dict[str, str] = field(default_factory=dict)
    # How often those came that came more than once.
    repeats: dict[str, int] = field(default_factory=dict)
    idents: dict[str, None] = field(default_factory=dict)
    rest: dict[str, None] = field(default_factory=dict)
    names: list[Token] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    # Too short to reach any of the limits but that of one term's occurrences.
    is_small: bool = False
    size: int = 0
    position: int = 0
    # How many of the positions lie between sections.
    gaps: int = 0
    cut: bool = False

    def add_section(self, lines: Iterable[TokenLine], *, is_text: bool) -> None:
        """Place a section's terms, a gap behind those of the last."""
        if self.position:
            self.position += SECTION_GAP
            self.gaps += SECTION_GAP
        last = min(_LAST_POSITION, MAX_POSITIONED_TOKENS + self.gaps)
        stream: list[str] = []
        for line in lines:
            if self.cut and self.position >= last:
                # Nothing of what is still to come could be kept.
                break
            terms = list(chain.from_iterable(map(_TERMS, line.pieces)))
            if not self.is_small and self.position + len(terms) > last:
                terms = self._without_late(terms, max(0, last - self.position))
            self._place(terms)
            stream += terms
            self.words.update(chain.from_iterable(map(_WORDS, line.pieces)))
            if any(map(_HAS_IDENTS, line.pieces)):
                self._add_idents(line, is_text=is_text)
        if stream:
            self.lines.append(" ".join(stream))

    def _place(self, terms: list[str]) -> None:
        """Give terms their positions; the loop that the analyser's speed hangs on.

        Where one is left out, a filler stands instead.
        """
        entries, repeats, is_small = self.entries, self.repeats, self.is_small
        first = self.position + 1
        for position, term in enumerate(terms, first):
            known = entries.get(term)
            if known is None:
                if is_small or self._fits(term):
                    entries[term] = f"'{term}':{position}"
                    continue
            else:
                count = repeats.get(term, 1)
                if count < MAX_OCCURRENCES:
                    repeats[term] = count + 1
                    entries[term] = f"{known},{position}"
                    continue
            terms[position - first] = FILLER
        self.position += len(terms)
        self.size += len(terms) * _POSITION_BYTES

    def _without_late(self, terms: list[str], room: int) -> list[str]:
        """Return the terms that have a position; the others stand for no phrase."""
        in_time = terms[:room]
        known = {*in_time}
        for term in terms[room:]:
            if (
                term not in known
                and term not in self.entries
                and term not in self.rest
                and self._fits(term)
            ):
                self.rest[term] = None
        return in_time

    def _add_idents(self, line: TokenLine, *, is_text: bool) -> None:
        at = line.at
        for chunk, piece in zip(line.chunks, line.pieces, strict=True):
            for token in piece.tokens if piece.has_idents else ():
                for ident in token.idents:
                    if ident not in self.idents and (
                        self.is_small or self._fits(ident, IDENT_PREFIX)
                    ):
                        self.idents[ident] = None
                if is_text and token.is_name and len(self.names) < MAX_NAMES:
                    self.names.append(token.moved(at))
            at += len(chunk) + 1

    def _fits(self, term: str, prefix: str = "") -> bool:
        size = len(prefix) + len(term.encode()) + _ENTRY_BYTES
        if self.size + size > MAX_LEXEME_BYTES:
            self.cut = True
            return False
        self.size += size
        return True


def _is_small(texts: Sequence[str]) -> bool:
    """Tell whether nothing of these can reach the limit of all lexemes."""
    return sum(map(len, texts)) * _MOST_BYTES_A_CHARACTER < MAX_LEXEME_BYTES


def _built(
    sections: Iterable[Iterable[TokenLine]], *, is_small: bool, plain: bool
) -> Analysis:
    builder = _Builder(is_small=is_small)
    for number, lines in enumerate(sections):
        builder.add_section(lines, is_text=number == _TEXT)
    stream = "\n".join([*builder.lines, *builder.rest])
    return Analysis(
        stream=stream,
        idents=sorted(builder.idents),
        tsvector_literal=_literal(builder, stream),
        names=tuple(builder.names),
        plain=plain,
        cut=builder.cut,
        words=builder.words,
    )


def _literal(builder: _Builder, stream: str) -> str:
    idents = [f"{IDENT_PREFIX}{ident}" for ident in builder.idents]
    # A facility's own patterns may bring a sign that ends a lexeme, or hides the end.
    all_of_it = f"{stream} {' '.join(builder.idents)}"
    if "'" in all_of_it or "\\" in all_of_it:
        placed = [
            f"{quote_lexeme(term)}{entry[len(term) + len(_QUOTES) :]}"
            for term, entry in builder.entries.items()
        ]
        return " ".join([*placed, *map(quote_lexeme, (*builder.rest, *idents))])
    parts = list(builder.entries.values())
    parts += [f"'{term}'" for term in (*builder.rest, *idents)]
    return " ".join(parts)


def quote_lexeme(lexeme: str) -> str:
    """Return a lexeme as `tsvector` and `tsquery` input reads it literally."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
