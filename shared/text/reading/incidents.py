"""What the sentences of a text tell of an incident: steps, how things stand, and when.

What is denied, hoped for or asked is no such step; what is not yet mended is open.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from shared.text.facility import incident_words
from shared.text.facility.incident_words import Kind, Own, State, Step
from shared.text.reading.shortened_words import is_shortened
from shared.times import times_of_day
from shared.times.times_of_day import Clock

# In the quote itself; in another sentence of the text; or the entry's own.
TimeFrom = Literal["quote", "beside", "entry"]

MAX_QUOTE_CHARS = 300
# A line as long as that was broken because it was full.
_FULL_LINE_CHARS = 50
_END = re.compile(r"[.!?](?=\s)|\n")
_CLAUSE = re.compile(
    r"[;,](?=\s)|\s(?=(?:and|then|but|und|dann|aber)\s)|\s?(?:->|=>|\u2192|\u2013)(?=\s)"
    r"|\s-(?=\s)|\s(?=(?:due to|because|caused by|triggered by|after|nachdem|nach|wegen"
    r"|aufgrund|weil|ausgel(?:\u00f6|oe)st durch|verursacht durch)\s)",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"(?:[\s,;:*#>\u2022\u2013-]|(?:and|then|but|und|dann|aber)(?=\s))*", re.IGNORECASE
)
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"\w+")
# A line that repeats what another entry says.
_QUOTED = re.compile(r"^[ \t]{0,8}>[^\n]*", re.MULTILINE)
# A sentence with more is a table.
_MOST_CLOCKS = 20
# So many words before a phrase may deny it.
_NEAR = 4

_DENIED, _PLANNED, _IN_VAIN = (
    incident_words.compiled(words)
    for words in (incident_words.DENIED, incident_words.PLANNED, incident_words.IN_VAIN)
)


class Statement(NamedTuple):
    """A step that a text tells of, where, and when; no kind: a time and no more."""

    kind: Kind | None
    start: int
    end: int
    at: datetime
    time_from: TimeFrom

    @property
    def step(self) -> Step:
        """Return which step of an incident it is."""
        return incident_words.WORDS[self.kind].step if self.kind else "note"

    @property
    def state(self) -> State | None:
        """Return how things stand after it; None: it does not say."""
        return incident_words.WORDS[self.kind].state if self.kind else None


class _Clause(NamedTuple):
    kind: Kind | None
    start: int
    end: int


class _Part(NamedTuple):
    kind: Kind | None
    start: int
    end: int
    clock: Clock | None


# Incidents that stand open are read for every digest and card.
@functools.lru_cache(maxsize=4096)
def find_statements(
    text: str, written: datetime, zone: str, own: Own = ()
) -> tuple[Statement, ...]:
    """Return the statements of a text in their order, each with a time.

    A statement without a time of its own takes that of the one before, or else of the
    first; after the last time, it holds when the entry was written.
    """
    parts = [
        part
        for start, end in sentences(text)
        for part in _parts(text, start, end, written, zone, own)
    ]
    timed = [number for number, part in enumerate(parts) if part.clock]
    found = []
    for number, (kind, start, end, clock) in enumerate(parts):
        at = written
        time_from: TimeFrom = "entry"
        if clock is not None:
            at = clock.at
            time_from = "quote" if start <= clock.start < end else "beside"
        elif timed and number < timed[-1]:
            before = [one for one in timed if one < number]
            beside = parts[before[-1] if before else timed[0]].clock
            at, time_from = beside.at if beside else written, "beside"
        found.append(Statement(kind, start, end, at, time_from))
    return tuple(found)


def state(statements: Sequence[Statement]) -> State | None:
    """Return how things stand at the end of one text; None: it does not say."""
    last: Statement | None = None
    for one in statements:
        if one.state is None:
            continue
        # In the order of the text, unless its clocks say otherwise.
        is_earlier = (
            last is not None
            and one.time_from == last.time_from == "quote"
            and one.at < last.at
        )
        if not is_earlier:
            last = one
    return last.state if last else None


def blank_quoted_lines(text: str) -> str:
    """Return a text with its quoted lines blanked: its author has not done that.

    Every character stands where it was.
    """
    return _QUOTED.sub(_blanked, text)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand, without what they begin or end with."""
    start = line = 0
    for match in _END.finditer(text):
        if match[0] == "\n":
            is_full = match.start() - line >= _FULL_LINE_CHARS
            line = match.end()
            if is_full and text[line : line + 1].islower():
                continue
        elif is_shortened(text, start, match.end()):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def quoted(text: str, start: int, end: int) -> str:
    """Return a part of a text as it stands there; a long one ends between words."""
    part = text[start:end]
    if len(part) <= MAX_QUOTE_CHARS:
        return part
    cut = part[: MAX_QUOTE_CHARS + 1]
    return (cut.rpartition(" ")[0] or cut[:-1]).rstrip()


def _blanked(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    leading = _LEADING.match(text, start, end)
    start = leading.end() if leading else start
    end = start + len(text[start:end].rstrip().rstrip(",;- ").rstrip())
    if start < end:
        yield start, end


def _parts(
    text: str, start: int, end: int, written: datetime, zone: str, own: Own
) -> Iterator[_Part]:
    """Yield what a sentence says: one part for each of its steps."""
    sentence = text[start:end]
    possible = [] if sentence.endswith("?") else _possible(sentence, _wanted(own))
    if any(one.kind == "trip" for one in possible):
        sentence = incident_words.SET_UP.sub(_blanked, sentence)
    named = times_of_day.find_times_of_day(sentence, written, zone)[:_MOST_CLOCKS]
    if not named and not possible:
        return
    clauses = [*_clauses(sentence, possible)]
    if not named and not any(one.kind for one in clauses):
        return
    if named:
        to_come = [
            one
            for one in clauses
            if times_of_day.is_planned(sentence[one.start : one.end])
        ]
        named = [
            clock
            for clock in named
            if not any(one.start <= clock.start < one.end for one in to_come)
        ]
    for kind, low, high in _joined(clauses, [one.start for one in named]):
        within = [one for one in named if low <= one.start < high]
        before = [one for one in named if one.start < low]
        nearest = within or before[-1:] or named
        if kind is None and not within:
            continue
        for first, last in _trimmed(text, start + low, start + high):
            clock = nearest[0].moved(start) if nearest else None
            yield _Part(kind, first, last, clock)


def _joined(clauses: Sequence[_Clause], clocks_at: Sequence[int]) -> Iterator[_Clause]:
    """Join clauses that say the same; a clause without a statement joins its neighbour.

    A second time is a second step.
    """
    kind, low, high = clauses[0]
    for other, start, end in clauses[1:]:
        is_same = other is None or kind is None or other == kind
        is_second = any(low <= at < high for at in clocks_at) and any(
            start <= at < end for at in clocks_at
        )
        if is_same and not is_second:
            kind, high = kind or other, end
        else:
            yield _Clause(kind, low, high)
            kind, low, high = other, start, end
    yield _Clause(kind, low, high)


class _Wanted(NamedTuple):
    """A kind of statement that is looked for, and what it may begin with."""

    kind: Kind
    # None: with any word.
    firsts: frozenset[str] | None
    pattern: re.Pattern[str]


@functools.lru_cache(maxsize=64)
def _wanted(own: Own) -> tuple[_Wanted, ...]:
    firsts = incident_words.first_words(own)
    return tuple(
        _Wanted(kind, firsts[kind], found)
        for kind, found in incident_words.patterns(own)
    )


def _possible(text: str, wanted: Sequence[_Wanted]) -> list[_Wanted]:
    """Return the kinds that a text has first words of, the most important one first."""
    words = set(_LETTERS.findall(text.lower()))
    return [
        one for one in wanted if one.firsts is None or not one.firsts.isdisjoint(words)
    ]


def _clauses(sentence: str, possible: Sequence[_Wanted]) -> Iterator[_Clause]:
    ends = [match.end() for match in _CLAUSE.finditer(sentence)]
    if not ends:
        yield _Clause(_kind(sentence, possible), 0, len(sentence))
        return
    for low, high in zip([0, *ends], [*ends, len(sentence)], strict=True):
        clause = sentence[low:high]
        kind = _kind(clause, _possible(clause, possible)) if possible else None
        yield _Clause(kind, low, high)


def _kind(clause: str, possible: Sequence[_Wanted]) -> Kind | None:
    """Return the most important kind of statement in a clause, if there is any."""
    for kind, _, pattern in possible:
        for match in pattern.finditer(clause):
            said = _asserted(kind, clause, match)
            if said is not None:
                return said
    return None


def _asserted(kind: Kind, clause: str, match: re.Match[str]) -> Kind | None:
    if kind == "open":
        return kind
    words = [one.start() for one in _WORD.finditer(clause, 0, match.start())]
    near = clause[words[-_NEAR] if len(words) >= _NEAR else 0 : match.start()]
    if _DENIED.search(near) or _DENIED.search(match[0]):
        return "open" if kind in {"restored", "cause"} else None
    if kind == "watching":
        return kind
    if _PLANNED.search(near) or _PLANNED.search(match[0]):
        return "open" if kind == "restored" else None
    if kind in {"restored", "action"} and _IN_VAIN.search(clause, match.end()):
        return "open"
    return kind
