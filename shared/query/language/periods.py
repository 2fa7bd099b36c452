"""Words for the facility's runs and shutdowns: `July shutdown`, `the last run`."""

from __future__ import annotations

import re
from datetime import date, timedelta

from shared.query.language import german
from shared.query.language.calendar import Clock, Span
from shared.text import time_shapes
from shared.text.periods import Period

_DAY = timedelta(days=1)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_THIS = frozenset({"", "current", "this"})
_LAST = frozenset({"last", "previous"})


def named(text: str, clock: Clock) -> Span | None:
    """Return the period of the facility's calendar that a text names, or None."""
    found = _find(text, clock)
    return clock.days(found.begins, found.ends + _DAY) if found else None


def _find(text: str, clock: Clock) -> Period | None:
    if not clock.periods:
        return None
    by_name = [one for one in clock.periods if text in _names(one)]
    if by_name:
        return _latest(by_name, clock)
    for kind in {one.kind for one in clock.periods}:
        words = text.split()
        if kind in words:
            words.remove(kind)
            alike = [one for one in clock.periods if one.kind == kind]
            return _chosen(words, alike, clock)
    return None


def _names(one: Period) -> tuple[str, str]:
    """Return its name as it may be typed: what is read is in English by now."""
    plain = " ".join(one.name.lower().split())
    return plain, german.in_english(plain)


def _chosen(words: list[str], alike: list[Period], clock: Clock) -> Period | None:
    """Return the one of a kind that the words beside it mean."""
    rest, today = " ".join(words), clock.today
    if rest in _THIS | _LAST:
        if today is None:
            return None
        over = [one for one in alike if one.ends < today]
        return _latest(over if rest in _LAST else alike, clock)
    year = next((int(word) for word in words if _YEAR.fullmatch(word)), None)
    others = [word for word in words if not _YEAR.fullmatch(word)]
    month = time_shapes.month(others[0]) if len(others) == 1 and others[0] else 0
    if len(others) > 1 or (others and not month):
        return None
    return _latest([one for one in alike if _meets(one, year, month)], clock)


def _meets(one: Period, year: int | None, month: int) -> bool:
    """Whether a period has a day in that month, in that year."""
    years = range(one.begins.year, one.ends.year + 1)
    months = [
        (a_year, number)
        for a_year in years
        for number in ([month] if month else range(1, 13))
        if (one.begins.year, one.begins.month)
        <= (a_year, number)
        <= (one.ends.year, one.ends.month)
    ]
    return any(year in {None, a_year} for a_year, _ in months)


def _latest(some: list[Period], clock: Clock) -> Period | None:
    """Return the latest that has begun; where none has, the next."""
    today = clock.today or date.max
    begun = [one for one in some if one.begins <= today]
    if begun:
        return max(begun, key=lambda one: one.begins)
    return min(some, key=lambda one: one.begins, default=None)
