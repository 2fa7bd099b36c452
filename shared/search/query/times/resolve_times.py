"""Resolves when hits were written or happened, from filters, fields and words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from shared.search.query.filters import filters, time_range
from shared.search.query.filters.filters import Filters
from shared.search.query.filters.time_range import NAMES, Applied
from shared.search.query.language import field_filters, long_question, tree_text
from shared.search.query.language.required_fields import Lifted
from shared.search.query.language.tree import And, Field, Node, Or
from shared.search.query.plan_parts import PlanTime
from shared.search.query.times import extract_times
from shared.search.query.times.extract_times import Heard, Taken
from shared.search.query.times.without_times import Elsewhen
from shared.times import date_expressions, plain_words, time_phrases
from shared.times.calendar import Clock, Span

_MAX_QUESTIONS = 2

# Intervals of which a hit lies in one.
_Window: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Timed:
    """A question without the words of its times, and the times that they mean."""

    tree: Node | None
    filters: Filters
    time: PlanTime
    # By beginning, the end of a time after a named day in which people write of it.
    edges: Mapping[str, str]


def resolve_times(
    lifted: Lifted, given: Mapping[str, object], text: str, clock: Clock
) -> Timed:
    """Take the times out of a question; return the rest and the intervals of hits."""
    if long_question.is_long(text):
        found = Heard(long_question.soften(lifted.tree))
    else:
        found = extract_times.extract_times(lifted.tree, text, clock)
    spans = [_window(one) for one in found.times if not one.reading.is_event]
    windows = _windows(spans)
    is_dated = lifted.filters.since or lifted.filters.until or any(_given(given, clock))
    if windows is None or _is_doubtful(found.times, is_dated=bool(is_dated)):
        found, windows = Heard(lifted.tree), []
    written = [one for one in found.times if not one.reading.is_event]
    happened = [one for one in found.times if one.reading.is_event]
    typed = [
        (one.written, span)
        for one in lifted.fields
        if (span := _typed(one, clock)) is not None and span.again
    ]
    said = " ".join([*_said(lifted, given), *(one.words for one in written)])
    # Dates in fields hold, whatever was read out of the words.
    given_ones = [span.each for _, span in typed]
    tree, narrowed = _narrowed(found.tree, lifted.filters, given_ones, said)
    elsewhen = None
    if tree is not None and found.times and tree_text.wants(tree):
        elsewhen = Elsewhen(tree, narrowed, tuple(_earlier(found.times, clock)))
    tree, narrowed = _narrowed(tree, narrowed, windows, said)
    several = [one for one in (*given_ones, *windows) if len(one) > 1]
    for one in happened:
        tree = _beside(tree, _event(one))
    sure = [one.reading.confidence for one in written]
    sure += [time_phrases.UNSURE for _ in typed]
    asked = [(one.words, one.reading.span) for one in found.times]
    asked += [*typed, *_given(given, clock)]
    twice = [_question(*one, clock.zone) for one in asked if one[1].again]
    time = PlanTime(
        tuple(_applied(narrowed, several, clock.zone, said, min(sure, default=1.0))),
        tuple(_events(happened, clock.zone)),
        bool(found.times),
        tuple(twice[:_MAX_QUESTIONS]),
        elsewhen,
        clock.zone,
    )
    edges = {edge[0]: edge[1] for one in written if (edge := _edge(one))}
    return Timed(tree, narrowed, time, edges)


def _earlier(times: Sequence[Taken], clock: Clock) -> Iterator[tuple[str, str]]:
    """Yield the same time in each earlier year, if it is the only one and names none.

    Each is a beginning and an end; the latest year comes first.
    """
    if len(times) != 1 or times[0].reading.is_event:
        return
    words = plain_words.make_plain(times[0].words.split())
    for reading in time_phrases.list_earlier_years(words, clock):
        span = Span(reading.span.since, reading.told_until or reading.span.until)
        since, until = time_range.written_ends(span)
        if since and until:
            yield since, until


def _window(taken: Taken) -> Span:
    """Return the interval in which entries about a named time are written."""
    span, until = taken.reading.span, taken.reading.told_until
    return replace(span, until=until) if until else span


def _edge(taken: Taken) -> tuple[str, str] | None:
    """Return the time after a named day in which entries about it may be written."""
    reading = taken.reading
    if reading.told_until is None:
        return None
    since, until = time_range.written_ends(Span(reading.span.until, reading.told_until))
    return (since, until) if since and until else None


def _narrowed(
    tree: Node | None, narrowed: Filters, windows: Sequence[_Window], said: str
) -> tuple[Node | None, Filters]:
    """Narrow the tree and the filters to all of these windows."""
    for window in windows:
        narrowed = narrowed.both(_all_of(window)) or narrowed
        if len(window) > 1:
            tree = _beside(tree, [_field(span, said) for span in window])
    return tree, narrowed


def _is_doubtful(times: Sequence[Taken], *, is_dated: bool) -> bool:
    """Tell whether several times contradict each other or may be of any day.

    That is so with two times of an event, or with a time of day beside another time.
    Dates of fields and filters count as times.
    """
    happened = [one for one in times if one.reading.is_event]
    floating = any(one.reading.is_floating for one in times)
    return len(happened) > 1 or (floating and len(times) + is_dated > 1)


def _windows(spans: Sequence[Span]) -> list[_Window] | None:
    """Return the windows that hits lie in: each open bound, and any closed interval.

    None: no time lies in all of them.
    """
    bounds = [one for one in spans if one.since is None or one.until is None]
    others = [one for one in spans if one not in bounds]
    since = max((one.since for one in bounds if one.since), default=None)
    until = min((one.until for one in bounds if one.until), default=None)
    if since and until and since >= until:
        return None
    each = dict.fromkeys(part for one in others for part in one.each)
    within = tuple(
        part
        for part in each
        if (part.until is None or since is None or since < part.until)
        and (part.since is None or until is None or part.since < until)
    )
    if others and not within:
        return None
    return [(one,) for one in bounds] + ([within] if within else [])


def _all_of(window: _Window) -> Filters:
    """Return the filters of the interval from the first to the last of a window."""
    since = [one.since for one in window if one.since]
    until = [one.until for one in window if one.until]
    return filters.within(
        Span(
            min(since) if len(since) == len(window) else None,
            max(until) if len(until) == len(window) else None,
        )
    )


def _said(lifted: Lifted, given: Mapping[str, object]) -> Iterator[str]:
    """Yield the times as the request writes them: its filters, then its fields."""
    for name, value in given.items():
        if filters.ALIASES.get(name, name) in NAMES:
            yield f"{name}={value}"
    yield from (one.written for one in lifted.fields if one.name in field_filters.DATES)


def _typed(one: Field, clock: Clock) -> Span | None:
    """Return the interval of a field that is a date; None: it is another field."""
    if one.name not in field_filters.DATES:
        return None
    value = one.written.removeprefix(f"{one.name}:").strip('"')
    span = date_expressions.parse_date_expression(value, clock)
    return span and date_expressions.bounded(one.name, span)


def _given(given: Mapping[str, object], clock: Clock) -> Iterator[tuple[str, Span]]:
    for name, value in given.items():
        if filters.ALIASES.get(name, name) in NAMES:
            for one in value if isinstance(value, list) else [value]:
                span = time_range.parse_span(one, clock)
                if span is not None:
                    yield f"{name}={one}", span


def _beside(left: Node | None, options: Sequence[Node]) -> Node:
    """Return the tree with one more part: every hit passes one of the options."""
    more = Or(tuple(options))
    if left is None:
        return more
    if isinstance(left, And):
        return And((*left.parts, more), left.is_written)
    return And((left, more))


def _field(span: Span, said: str) -> Field:
    words = said.removeprefix("date:").strip('"')
    return Field(filters.within(span), 0, "date", f"date:{words}")


def _event(one: Taken) -> list[Node]:
    """Return fields for events of that time and for entries written then.

    Most entries do not say when an event happened.
    """
    options: list[Node] = []
    for span in one.reading.span.each:
        was = filters.within(span)
        then = Filters(happened_since=was.since, happened_until=was.until)
        options += [
            Field(some, one.start, "date", f"date:{one.words}") for some in (then, was)
        ]
    return options


def _applied(
    narrowed: Filters, several: list[_Window], zone: str, said: str, sure: float
) -> Iterator[Applied]:
    """Yield the interval that all times leave, or each of several possible ones."""
    if (narrowed.since, narrowed.until) == (None, None):
        return
    parts = [narrowed]
    for window in several:
        parts = [
            both
            for part in parts
            for span in window
            if (both := part.both(filters.within(span))) is not None
        ]
    # Where the windows leave no moment, the filters alone were searched.
    left = [
        one for one in parts if not (one.since and one.until) or one.since < one.until
    ]
    for one in left or [narrowed]:
        yield Applied(one.since, one.until, zone, said, sure)


def _events(happened: Sequence[Taken], zone: str) -> Iterator[Applied]:
    for one in happened:
        for span in one.reading.span.each:
            some, sure = filters.within(span), one.reading.confidence
            yield Applied(some.since, some.until, zone, one.words, sure)


def _question(words: str, span: Span, zone: str) -> str:
    """Word the question back to the reader about a wall time that comes twice."""
    # A bound uses the first moment as a beginning, and the second as an end.
    begins = span.since or (span.until and span.until - span.again)
    if begins is None:
        return f"{words!r} comes twice: which is meant?"
    there = ZoneInfo(zone)
    first, second = (
        f"{one.astimezone(there):%Y-%m-%d %H:%M %Z} ({one.astimezone(UTC):%H:%M} UTC)"
        for one in (begins, begins + span.again)
    )
    # A season of a year is not said twice by a clock.
    why = "Clocks went back, and " if span.again < timedelta(days=1) else ""
    return f"{why}{words!r} comes twice: from {first}, or from {second}?"
