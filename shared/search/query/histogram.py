"""Sixty buckets of time at most, by the facility's days: the same for each engine."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import count, pairwise
from typing import NamedTuple

from shared.times.calendar import Clock

MAX_BUCKETS = 60
_DAY = timedelta(days=1)
_MONTHS = 12


class Buckets(NamedTuple):
    """Edges in order: each bucket goes from one to before the next."""

    interval: str
    edges: tuple[datetime, ...]

    @property
    def spans(self) -> list[tuple[datetime, datetime]]:
        """Return each bucket's beginning and end."""
        return list(pairwise(self.edges))


def buckets(first: datetime, last: datetime, clock: Clock) -> Buckets:
    """Return the finest buckets that hold both times and all between, sixty at most."""
    day = replace(clock, now=first).today or first.date()
    for name, marks in _STEPS:
        edges = _edges(marks(day, clock), first, last)
        if edges:
            return Buckets(name, edges)
    # Buckets of ten years hold all years that entries may have.
    raise AssertionError


def _edges(
    marks: Iterator[datetime], first: datetime, last: datetime
) -> tuple[datetime, ...]:
    """Return the marks around the counted times; empty where they are too many."""
    edges: list[datetime] = []
    for mark in marks:
        edges = [mark] if mark <= first else [*edges, mark]
        if mark > last:
            return tuple(edges)
        if len(edges) > MAX_BUCKETS:
            break
    return ()


def _within_days(minutes: int) -> Callable[[date, Clock], Iterator[datetime]]:
    # The steps begin anew with each day, for some days have 23 hours.
    step = timedelta(minutes=minutes)

    def marks(day: date, clock: Clock) -> Iterator[datetime]:
        for number in count():
            span = clock.day(day + number * _DAY)
            mark = span.since
            while mark is not None and span.until is not None and mark < span.until:
                yield mark
                mark += step

    return marks


def _days(days: int) -> Callable[[date, Clock], Iterator[datetime]]:
    def marks(day: date, clock: Clock) -> Iterator[datetime]:
        begins = day - (day.weekday() * _DAY if days > 1 else timedelta())
        for number in count():
            yield _since(begins + number * days * _DAY, clock)

    return marks


def _months(months: int) -> Callable[[date, Clock], Iterator[datetime]]:
    def marks(day: date, clock: Clock) -> Iterator[datetime]:
        month = day.year * _MONTHS + day.month - 1
        for number in count(month - month % months, months):
            yield _since(date(number // _MONTHS, number % _MONTHS + 1, 1), clock)

    return marks


def _since(day: date, clock: Clock) -> datetime:
    since = clock.day(day).since
    assert since is not None
    return since


_STEPS: tuple[tuple[str, Callable[[date, Clock], Iterator[datetime]]], ...] = (
    ("minute", _within_days(1)),
    ("5 minutes", _within_days(5)),
    ("15 minutes", _within_days(15)),
    ("hour", _within_days(60)),
    ("3 hours", _within_days(180)),
    ("6 hours", _within_days(360)),
    ("day", _days(1)),
    ("week", _days(7)),
    ("month", _months(1)),
    ("quarter", _months(3)),
    ("year", _months(12)),
    ("5 years", _months(60)),
    ("10 years", _months(120)),
)
