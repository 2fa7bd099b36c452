"""Finds the best passage of an entry and marks the parts that answer a question.

The analyser reads the text again for one page alone, so the marks do not depend on the
engine that found the entry.
"""

import functools
import html
import re
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import Outcome
from shared.search.query.compiled import expandable_words
from shared.search.query.compiled.compiled_question import (
    CompiledQuery,
    compile_question,
    find_own_languages,
)
from shared.search.query.compiled.word_clauses import Known
from shared.search.query.plan import Plan
from shared.search.results.hydrate import HitRow
from shared.search.results.term_marks import MAX_CHARACTERS, Mark, WantedTerms, merged
from shared.search.retrieval.module_contract import Lexicon
from shared.text.facility.facility import PLAIN, Facility
from shared.vocabulary import expand

log = get_logger()

MOST_PARTS = 3
PART_CHARACTERS = 200
# A text hardly longer than two parts is shown whole.
WHOLE_CHARACTERS = 400
# About what an encoder reads at once; a shorter text is shown whole.
PASSAGE_CHARACTERS = 1500
_STEP = PASSAGE_CHARACTERS // 2
# Processor time for a whole page. Of texts that come too late the passage alone is
# marked, which is found by looking for the words. Waiting does not count.
SECONDS_A_PAGE = 0.2
_LOOK_UP_MS = 100
_BLANK = re.compile(r"\s")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")


class MarkedText(NamedTuple):
    """What a result shows of its text: a passage, and parts as escaped HTML."""

    content: str
    highlights: list[str]


class Highlighter:
    """Reads the texts of one page for one question; languages are prepared once."""

    def __init__(
        self,
        question: CompiledQuery,
        facility: Facility = PLAIN,
        known: Known | None = None,
    ) -> None:
        self.question = question
        # The words behind the question's patterns and misspelt words, if looked up.
        self.known: Known = known or {}
        self._facility = facility
        self._wanted: dict[str, WantedTerms] = {}
        self._until: float | None = None

    def mark(self, row: HitRow, span: tuple[int, int] | None) -> MarkedText:
        """Return the passage and marked parts of an entry to show.

        `span` is the place of the chunk that a branch found, if it named one.
        """
        if self._until is None:
            self._until = time.thread_time() + SECONDS_A_PAGE
        marks, is_whole = self._marks(row.text, row.language, span)
        if span is None and not (marks and is_whole):
            span = by_words(row.text, marks, self._of(row.language).words)
            if span is not None and not is_whole:
                marks, _ = self._marks(row.text, row.language, span)
        start, end = passage(row.text, marks, span)
        parts = marked_parts(row.text, marks)
        if not parts:
            marks, _ = self._marks(row.title, row.language, None)
            parts = marked_parts(row.title, marks)
        return MarkedText(row.text[start:end], parts)

    def _marks(
        self, text: str, language: str, span: tuple[int, int] | None
    ) -> tuple[list[Mark], bool]:
        """Return the marks of a text, and whether the whole text was read."""
        is_late = self._until is None or time.thread_time() > self._until
        most = PASSAGE_CHARACTERS if is_late else MAX_CHARACTERS
        start, end = 0, len(text)
        if end > most:
            start, end = span or (0, most)
            end = min(end, start + most)
        found = self._of(language).marks(text[start:end], self._facility)
        marks = [Mark(a + start, b + start, part) for a, b, part in found]
        return marks, end - start == len(text)

    def _of(self, language: str) -> WantedTerms:
        wanted = self._wanted.get(language)
        if wanted is None:
            wanted = self._wanted[language] = WantedTerms(self.question, language)
        return wanted


def make_highlighter(
    context: Lexicon,
    plan: Plan,
    branches: Sequence[Outcome],
    languages: Collection[str] = (),
) -> Highlighter:
    """Make a highlighter that knows the words behind patterns and misspelt words.

    It reads texts of these languages; without languages, of every one.
    """
    listed = sorted(languages)
    facility = synonyms.add_synonyms(context.facility, plan.words.glossary)
    make = functools.partial(
        compile_question,
        plan.tree,
        facility,
        max_terms=plan.words.max_terms,
        languages=listed,
    )
    asked = make()
    wanted = expandable_words.patterns(plan.tree)
    codes = {note.code for one in branches for note in one.diagnostics}
    own = find_own_languages(plan.tree)
    guarded = (guard.condition for guard in asked.guards)
    is_respelt = "fuzzy_fallback" in codes
    misspelt = expandable_words.words(guarded, own) if is_respelt else []
    if not wanted and not misspelt:
        return Highlighter(asked, facility)
    scope, alike = plan.scope, plan.words.fuzzy_threshold
    try:
        with timed_connection(context.pool, _LOOK_UP_MS) as conn:
            found = expand.expand(conn, scope.tenant, wanted)
            found += expand.expand_misspelt(conn, scope, misspelt, own, alike=alike)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # The page is still good without some of its marks.
        log.warning("marks_not_looked_up", code=exc.error_code)
        return Highlighter(asked, facility)
    known = dict(zip([*wanted, *misspelt], found, strict=True))
    return Highlighter(make(known=known), facility, known)


def marked_parts(text: str, marks: Sequence[Mark]) -> list[str]:
    """Return the parts that answer most, in the order of the text; none without marks.

    Each part is escaped HTML with `<b>` as its only tag.
    """
    if not marks:
        return []
    stretches = merged(marks)
    if len(text) <= WHOLE_CHARACTERS:
        return [_written(text, 0, len(text), stretches)]
    parts = sorted(_best(marks))
    return [_written(text, *_widened(text, *part), stretches) for part in parts]


def _best(marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the places of the parts that answer most, none of which overlap."""
    near: list[tuple[int, int, int]] = []
    for number, first in enumerate(marks):
        end, parts = min(first.end, first.start + PART_CHARACTERS), set[int]()
        for mark in marks[number : number + PART_CHARACTERS]:
            if mark.start >= first.start + PART_CHARACTERS // 2:
                break
            end = max(end, min(mark.end, first.start + PART_CHARACTERS))
            parts.add(mark.part)
        near.append((-len(parts), first.start, end))
    chosen: list[tuple[int, int]] = []
    for _, start, end in sorted(near):
        apart = all(abs(start - one) >= PART_CHARACTERS for one, _ in chosen)
        if apart:
            chosen.append((start, end))
        if len(chosen) == MOST_PARTS:
            break
    return chosen


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a part widened to whole sentences around it, or else to whole words."""
    room = max(0, PART_CHARACTERS - (end - start)) // 2
    left, right = max(0, start - room), min(len(text), end + room)
    if left > 0:
        before = _SENTENCE.search(text, left, start) or _BLANK.search(text, left, start)
        left = before.end() if before else start
    if right < len(text):
        ends = [one.start() for one in _SENTENCE.finditer(text, end, right)]
        ends = ends or [one.start() for one in _BLANK.finditer(text, end, right)]
        right = ends[-1] if ends else end
    return left, right


def _written(
    text: str, start: int, end: int, stretches: Sequence[tuple[int, int]]
) -> str:
    told: list[str] = []
    at = start
    for first, last in stretches:
        if last <= start or first >= end:
            continue
        first, last = max(first, start), min(last, end)  # noqa: PLW2901 - cut to fit
        told.append(html.escape(text[at:first]))
        told.append(f"<b>{html.escape(text[first:last])}</b>")
        at = last
    told.append(html.escape(text[at:end]))
    return "".join(told)


def passage(
    text: str, marks: Sequence[Mark], span: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the chunk that a branch named, else the stretch with most marks.

    Of stretches with equally many parts of the question the first is taken, so that the
    choice is always the same.
    """
    if span is not None and 0 <= span[0] < span[1] <= len(text):
        return span
    if len(text) <= PASSAGE_CHARACTERS:
        return 0, len(text)
    starts = range(0, max(1, len(text) - _STEP), _STEP)
    best = max(starts, key=lambda start: (_answered(marks, start), -start))
    return best, min(len(text), best + PASSAGE_CHARACTERS)


def by_words(
    text: str, marks: Sequence[Mark], words: Sequence[Sequence[str]]
) -> tuple[int, int] | None:
    """Return a stretch that has words of more parts than the marks do, else None.

    It compares plain characters, so it misses forms of words that look different.
    """
    if len(text) <= PASSAGE_CHARACTERS:
        return None
    start, _ = passage(text, marks, None)
    best, most = None, _answered(marks, start)
    for start in range(0, max(1, len(text) - _STEP), _STEP):
        stretch = text[start : start + PASSAGE_CHARACTERS].casefold()
        found = sum(any(word in stretch for word in part) for part in words)
        if found > most:
            best, most = start, found
    return None if best is None else (best, min(len(text), best + PASSAGE_CHARACTERS))


def _answered(marks: Sequence[Mark], start: int) -> int:
    end = start + PASSAGE_CHARACTERS
    return len({one.part for one in marks if start <= one.start and one.end <= end})
