"""What an answer may be made of: entries that were found, and their threads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from shared.answers.evidence.sentences import split_sentences
from shared.answers.question.question import is_content_word
from shared.search.results.hydrate import HitRow
from shared.text.analysis.tokens import TextPiece, make_reader, scan
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words.character_runs import Token
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

# The most characters read of a text: a longer one is a dump, not a report.
MAX_CHARACTERS = 20_000
# What is shorter heads a form, or tells nothing by itself.
_LEAST_WORDS = 3
# How the title of an answer to another entry begins.
_ANSWERS = re.compile(r"\A(?:re|aw|fwd?)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TranslatedWord:
    """Words of an entry that mean what a question says in another language."""

    said: str
    terms: frozenset[str]
    asked: str
    asked_terms: frozenset[str]


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence, or a title, that an answer may be made of."""

    entry: EvidenceEntry
    text: str
    # Where in the entry's text; None: it is the title.
    start: int | None
    end: int | None
    # The terms of the sentence; names with all terms that find them.
    terms: frozenset[str]
    # Whether it is the rest of a sentence that is too long, and whether that goes on.
    is_rest: bool = False
    goes_on: bool = False

    @property
    def language(self) -> str:
        """Return the language in which its words are compared."""
        return self.entry.language

    @property
    def place(self) -> tuple[str, int]:
        """Return the key that breaks ties: the entry, then the place; a title first."""
        return str(self.entry.row.entry_id), -1 if self.start is None else self.start


@dataclass(frozen=True, eq=False)
class EvidenceEntry:
    """An entry that was found, or stands in the thread of one that was."""

    row: HitRow
    # A hit's own score; another entry of its thread has that of the thread's best hit.
    score: float
    rank: int
    is_hit: bool = True
    # Whether it was written after another one of its thread.
    is_reply: bool = False
    facility: Facility = PLAIN
    # Which of its words a question has in another language.
    translations: tuple[TranslatedWord, ...] = ()
    # Whether it is one of the newest that have all words of a question.
    is_newest: bool = False

    @property
    def time(self) -> datetime:
        """Return when it happened, or was written."""
        return self.row.event_time or self.row.entry_time

    @property
    def is_procedure(self) -> bool:
        """Tell whether it says how something is done."""
        return self.row.kind == "procedure"

    @cached_property
    def thread(self) -> str:
        """Return the id of the entry's thread, or of the entry itself."""
        return str(self.row.thread_id or self.row.entry_id)

    @cached_property
    def language(self) -> str:
        """Return the language in which its words are compared."""
        known = self.row.language in STEMMED_LANGUAGES
        return self.row.language if known else UNSTEMMED

    @cached_property
    def text(self) -> str:
        """Return as much of its text as is read, whole words."""
        text = self.row.text
        if len(text) <= MAX_CHARACTERS:
            return text
        return text[:MAX_CHARACTERS].rsplit(None, 1)[0]

    @cached_property
    def people(self) -> frozenset[str]:
        """Return the folded names of its authors, without initials."""
        return frozenset(
            part.casefold()
            for author in self.row.authors
            for part in author.split()
            if len(part) > 2  # noqa: PLR2004 - no initials
        )

    @cached_property
    def _title(self) -> list[Token]:
        return self._scan(self.row.title)

    @cached_property
    def _around(self) -> list[Token]:
        """Return the tokens of title, tags and number; each sentence is read with them.

        A number that is no name by itself, as 12, says too little.
        """
        row = self.row
        beside = "\n".join((*row.tags, *row.logbooks))
        number = (one for one in self._scan(row.external_id) if not one.surface)
        return [*self._title, *self._scan(beside), *number]

    @cached_property
    def context_terms(self) -> frozenset[str]:
        """Return the terms of its title and tags."""
        return self._translate_terms(_terms(self._around))

    @cached_property
    def authors(self) -> frozenset[str]:
        """Return the terms of who wrote it."""
        return _terms(self._scan("\n".join(self.row.authors)))

    @cached_property
    def _pieces(self) -> list[tuple[int, TextPiece]]:
        """Return the pieces between blanks in its text, each with its first place.

        To place each token would take longer than to read them.
        """
        return [*self._read(self.text)]

    @cached_property
    def title_words(self) -> frozenset[str]:
        """Return the terms of the words of its title that mean something; no names."""
        title = self.row.title
        begins = len(title) - len(cut_reply_marks(title))
        return self._content_terms(one for one in self._title if one.start >= begins)

    def words_in(self, text: str) -> frozenset[str]:
        """Return the terms of a text's words that mean something; no names."""
        return self._content_terms(self._scan(text))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return the terms of title, tags, authors and text."""
        return self.context_terms | self.authors | self._terms(self._pieces)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the entry's terms, those of its metadata and authors too."""
        values = "\n".join(map(str, self.row.metadata.values()))
        return self.terms | _terms(self._scan(values))

    def candidates(self) -> Iterator[Sentence]:
        """Yield its title and its sentences, in order."""
        title = self.row.title.strip()
        if len(title.split()) >= _LEAST_WORDS:
            terms = self._translate_terms(_terms(self._title))
            yield Sentence(self, title, None, None, terms)
        starts = [start for start, _ in self._pieces]
        goes_on = False
        for start, end, goes_further in split_sentences(self.text):
            is_rest, goes_on = goes_on, goes_further
            inside = self._pieces[bisect_left(starts, start) : bisect_left(starts, end)]
            # `Nobody hurt.` is a sentence; without its full stop it heads something.
            is_closed = self.text[end - 1] in ".!"
            # Where reading ended, it goes on unread.
            is_last = end == len(self.text) < len(self.row.text)
            goes_on |= is_last and not is_closed
            count = sum(len(piece.terms) for _, piece in inside)
            if count < _LEAST_WORDS - is_closed:
                continue
            text, terms = self.text[start:end], self._terms(inside)
            yield Sentence(self, text, start, end, terms, is_rest, goes_on)

    def translate(self, text: str) -> str:
        """Return a text of the entry with the words of the question in their places."""
        if not self.translations:
            return text
        asked = {one.said: one.asked for one in self.translations}
        return self._said.sub(lambda one: asked.get(one[0].lower(), one[0]), text)

    @cached_property
    def _said(self) -> re.Pattern[str]:
        """Return the pattern of the words that are translated, the longest first."""
        said = {re.escape(one.said) for one in self.translations}
        longest_first = sorted(said, key=lambda one: (-len(one), one))
        return re.compile(rf"\b(?:{'|'.join(longest_first)})\b", re.IGNORECASE)

    def list_phrases(self, *, has_pairs: bool) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield its words that mean something, and pairs of them, with their terms."""
        read = ((self.row.title, self._title), (self.text, self._scan(self.text)))
        for text, tokens in read:
            before: Token | None = None
            for one in tokens:
                if one.kind is not None or not is_content_word(one.surface or ""):
                    before = None
                    continue
                yield text[one.start : one.end].lower(), frozenset({one.term})
                if has_pairs and before is not None:
                    pair = text[before.start : one.end].lower()
                    yield pair, frozenset({before.term, one.term})
                before = one

    def _terms(self, pieces: Iterable[tuple[int, TextPiece]]) -> frozenset[str]:
        """Return the terms of pieces, and those of a question that they translate."""
        found = set[str]()
        for _, piece in pieces:
            found.update(piece.terms)
            if piece.has_idents:
                found.update(ident for one in piece.tokens for ident in one.idents)
        return self._translate_terms(found)

    def _translate_terms(self, terms: AbstractSet[str]) -> frozenset[str]:
        """Return terms, and those of a question that they translate."""
        return frozenset(terms).union(
            *(one.asked_terms for one in self.translations if one.terms <= terms)
        )

    def _content_terms(self, tokens: Iterable[Token]) -> frozenset[str]:
        """Return the terms of words that mean something, as a question has them."""
        found = _content_terms(tokens)
        for one in self.translations:
            if one.terms <= found:
                found = (found - one.terms) | one.asked_terms
        return found

    def _scan(self, text: str) -> list[Token]:
        return list(scan(text, self.language, self.facility))

    def _read(self, text: str) -> Iterator[tuple[int, TextPiece]]:
        for line in make_reader(self.language, self.facility).lines(text):
            at = line.at
            for chunk, piece in zip(line.chunks, line.pieces, strict=True):
                if piece.tokens:
                    yield at + piece.tokens[0].start, piece
                at += len(chunk) + 1


def _content_terms(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(
        one.term
        for one in tokens
        if one.kind is None and is_content_word(one.surface or "")
    )


def cut_reply_marks(title: str) -> str:
    """Return a title without what marks it as an answer to another one."""
    while answers := _ANSWERS.match(title):
        title = title[answers.end() :]
    return title


def order_in_threads(
    entries: Sequence[EvidenceEntry],
) -> dict[str, list[EvidenceEntry]]:
    """Return the entries by thread, in each in order of time."""
    threads: dict[str, list[EvidenceEntry]] = {}
    for one in sorted(entries, key=lambda e: (e.row.entry_time, str(e.row.entry_id))):
        threads.setdefault(one.thread, []).append(one)
    return threads


def _terms(tokens: Iterable[Token]) -> frozenset[str]:
    return frozenset(one for token in tokens for one in (token.term, *token.idents))
