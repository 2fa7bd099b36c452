"""Which of the times among words are surely meant: what stands beside them decides.

A time that is not surely one is searched as it stands.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.times import plain_words, time_phrases
from shared.times.calendar import Clock
from shared.times.time_phrases import TimePhrase

JOINS = frozenset({"and", "or", "und", "oder", "&", "/", "+"})
# From one to the other, of which we know one at most.
_RANGES = frozenset({"to", "till", "through", "thru", "until", "-", "\u2013", "bis"})
# What follows is not what is asked for.
_REFUSING = frozenset(
    (
        *("not", "except", "excepting", "excluding", "without", "but", "than", "no"),
        *("nicht", "ohne", "ausser", "au\u00dfer", "instead", "besides", "nor", "to"),
        *("never", "by", "like", "versus", "vs", "unless", "neither", "kein", "keine"),
        *("statt", "prior", "unlike", "minus", "including", "inclusive"),
    )
)
_BESIDE_REFUSING = frozenset({"only", "just", "even", "from", "nur", "those", "the"})
_UNITS = ("hour", "day", "week", "weekend", "month", "quarter", "year", "shift")
# `end of june` is a part of it only.
_PARTS = frozenset(
    (
        *("end", "beginning", "begin", "start", "middle", "rest", "part", "half"),
        *("morning", "afternoon", "evening", "night", "eve", "first", "second"),
        *("third", "last", "as", "ahead", "ende", "anfang", "mitte", *_UNITS),
        *(f"{one}s" for one in _UNITS),
    )
)
_MONTHS = time_phrases.MONTHS | plain_words.SHORT_MONTHS
# Days that are no times where they stand alone, and what says that more is asked for.
_LOOSE = frozenset(
    (
        *(*time_phrases.WEEKDAYS, *_MONTHS, "tomorrow", "earlier", "later", "before"),
        *("after", "older", "newer", "next", "previous", "since", "now"),
        *("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    )
)
# What a half of a choice begins or ends with: `this and last week`, `3 or 4 days ago`.
_HALVES = frozenset(
    (
        *("morning", "afternoon", "evening", "night", "this", "last", "next", "on"),
        *("at", "before", "after", "during", "in", "past"),
    )
)
# Behind a time these are no months: `yesterday may have been`.
_VERBS = {"may", "march"}
_DATE = re.compile(
    r"\d{1,2}:\d\d|\d{4}(?:[-/.]\d\d?){0,2}|\d{1,2}(?:st|nd|rd|th|\.)", re.ASCII
)
_AT_CLOCK = re.compile(r"(?:at|um) \d{1,2}:\d\d", re.ASCII)
_DAY_NUMBER = re.compile(r"\d{1,2}(?:st|nd|rd|th|\.)?", re.ASCII)
_NUMBER = re.compile(r"\d{1,2}", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The words from one to before another that may be a time."""

    first: int
    after: int
    reading: TimePhrase


def sure(
    words: Sequence[str], found: Sequence[Stretch], refused: int | None, clock: Clock
) -> Iterator[Stretch]:
    """Yield the times that are meant; `refused`: at this word something is negated."""
    plain = [plain_words.make_plain([one]) for one in words]
    loose = _LOOSE | {one.name.lower() for one in clock.shifts.shifts}
    for chain in _chains(plain, found):
        one = chain[0]
        is_refused = one.first == refused or _is_refused(plain, one.first)
        if is_refused or _is_part(plain, one.first):
            continue
        if _has_loose(plain, one.first, chain[-1].after, loose):
            continue
        yield from _merged(plain, chain)


def _chains(
    plain: Sequence[str], found: Sequence[Stretch]
) -> Iterator[tuple[Stretch, ...]]:
    """Yield groups of times that stand side by side, or have a joining word."""
    chain: tuple[Stretch, ...] = ()
    for one in found:
        between = plain[chain[-1].after : one.first] if chain else []
        if chain and len(between) <= 1 and set(between) <= JOINS | _RANGES:
            chain = (*chain, one)
            continue
        if chain:
            yield chain
        chain = (one,)
    if chain:
        yield chain


def _is_refused(plain: Sequence[str], place: int) -> bool:
    back = place - 1
    if back >= 1 and plain[back] in _BESIDE_REFUSING:
        back -= 1
    return back >= 0 and plain[back] in _REFUSING


def _is_part(plain: Sequence[str], place: int) -> bool:
    """Tell whether only a part of the time is meant, or a distance from it."""
    if not place:
        return False
    before = plain[place - 1]
    if before in {"ende", "anfang", "mitte"}:
        return True
    if plain[place] in {"before", "after"}:
        # `the day before 10 june`.
        return before.removesuffix("s") in _UNITS
    return plain[place] == "of" and before in _PARTS


def _has_loose(
    plain: Sequence[str], first: int, after: int, loose: frozenset[str]
) -> bool:
    """Tell whether a day that was not read stands beside the time, or `of` and more."""
    ahead, behind = plain[after : after + 3], plain[max(first - 3, 0) : first][::-1]
    if _is_torn(plain[first], behind):
        return True
    for near in (ahead, behind):
        if not near:
            continue
        days = {*time_phrases.WEEKDAYS, *time_phrases.MONTHS} - (
            _VERBS if near is ahead else set()
        )
        if near[0] in days or (near is ahead and near[0] == "of"):
            return True
        # What is beside it may be what it is of: `2024-06-10 until 2024-06-12`.
        if (_DATE.fullmatch(near[0]) and not _is_clock_before(near, behind)) or (
            near is ahead and _is_day(ahead)
        ):
            return True
        if len(near) > 1 and near[0] in JOINS | _RANGES:
            is_end = near is ahead and after + 2 == len(plain)
            if near[1] in loose | _HALVES or _DATE.fullmatch(near[1]):
                return True
            # Behind a time it may count anything, unless nothing follows.
            if (is_end or near is behind) and _NUMBER.fullmatch(near[1]):
                return True
            if near[1] == "the" and {*near[2:]} & (loose | _PARTS):
                return True
    return False


def _is_clock_before(near: Sequence[str], behind: Sequence[str]) -> bool:
    """Tell whether it is `at 14:30 yesterday`, where the hour stays to be searched."""
    return near is behind and bool(_AT_CLOCK.fullmatch(" ".join(near[1::-1])))


def _is_torn(begins: str, behind: Sequence[str]) -> bool:
    """Tell whether a number before the time is part of it: `10` of `june 2024`."""
    is_whole = begins in _MONTHS or begins in _RANGES
    return is_whole and bool(behind) and bool(_DAY_NUMBER.fullmatch(behind[0]))


def _is_day(near: Sequence[str]) -> bool:
    """Tell whether a day of a month comes next, behind a joining word or none."""
    day = near[1:] if near[0] in JOINS | _RANGES else near[:2]
    is_whole = len(day) > 1 and day[1] in _MONTHS
    return is_whole and bool(_DAY_NUMBER.fullmatch(day[0]))


def _merged(plain: Sequence[str], chain: tuple[Stretch, ...]) -> Iterator[Stretch]:
    """Yield a chain; of two that are one the inner; nothing where that is doubtful."""
    if len(chain) > 1 and any(one.reading.is_event for one in chain):
        return
    # `may and june 2022`: the year may be that of both.
    dated = {any(map(_YEAR.fullmatch, plain[one.first : one.after])) for one in chain}
    if len(dated) > 1 and any(_names_month(plain, one) for one in chain):
        return
    told = [chain[0]]
    for one, other in itertools.pairwise(chain):
        between = plain[one.after : other.first]
        spans = (part.reading.span for part in (one, other))
        bounds = [span.since is None or span.until is None for span in spans]
        if between:
            is_fine = between[0] in JOINS and bounds[0] == bounds[1]
            if not is_fine or (any(bounds) and between[0] in {"or", "oder"}):
                return
            told.append(other)
        elif any(bounds):
            told.append(other)
        else:
            inner = _inner(told[-1], other)
            if inner is None or plain[other.first] == "of":
                return
            told[-1] = inner
    yield from told


def _names_month(plain: Sequence[str], one: Stretch) -> bool:
    """Tell whether the words name a month without a year."""
    said = plain[one.first : one.after]
    is_dated = any(map(_YEAR.fullmatch, said))
    return not is_dated and any(word in _MONTHS for word in said)


def _inner(one: Stretch, other: Stretch) -> Stretch | None:
    """Return both as one where one lies in the other; else None."""
    sure = min(one.reading.confidence, other.reading.confidence)
    for inner, outer in ((one, other), (other, one)):
        span, wide = inner.reading.span, outer.reading.span
        if None in {span.since, span.until, wide.since, wide.until} or span.again:
            continue
        if str(wide.since) <= str(span.since) and str(span.until) <= str(wide.until):
            return Stretch(one.first, other.after, TimePhrase(span, sure))
    return None
