"""Words for the facility's runs and shutdowns: `July shutdown`, `the last run`."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from shared.times import german_times, written_forms
from shared.times.calendar import Clock, Span
from shared.times.operating_periods import Period

_DAY = timedelta(days=1)
_YEAR = re.compile(r"\d{4}", re.ASCII)
# No abbreviation of a month is shorter.
_LETTERS = 3
_THIS = frozenset({"", "current", "this"})
_LAST = frozenset({"last", "previous"})


@dataclass(frozen=True, slots=True)
class _Index:
    """A calendar by what its periods are called, and by what they are one of."""

    names: dict[str, list[Period]]
    kinds: dict[str, list[Period]]
    first_words: frozenset[str]


class _Calendar:
    """A calendar as it was loaded: the very same, not one that looks alike."""

    __slots__ = ("periods",)

    def __init__(self, periods: tuple[Period, ...]) -> None:
        self.periods = periods

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Calendar) and self.periods is other.periods

    def __hash__(self) -> int:
        return id(self.periods)


def find_period(text: str, clock: Clock, *, is_led: bool = True) -> Span | None:
    """Return the period that a text names; `is_led`: behind a word such as `during`."""
    found = _find(text, clock, is_led=is_led)
    return clock.days(found.begins, found.ends + _DAY) if found else None


def first_words(clock: Clock) -> frozenset[str]:
    """Return the words that the name or the kind of a period begins with."""
    return _index(_Calendar(clock.periods)).first_words


def is_kind(text: str, clock: Clock) -> bool:
    """Tell whether a text names a kind of period, such as `run`, and no single one."""
    return text in _index(_Calendar(clock.periods)).kinds


@lru_cache(maxsize=16)
def _index(calendar: _Calendar) -> _Index:
    """Return a calendar by its names, worked out once for each that is loaded."""
    names: dict[str, list[Period]] = {}
    kinds: dict[str, list[Period]] = {}
    for one in calendar.periods:
        for name in dict.fromkeys(_names(one)):
            names.setdefault(name, []).append(one)
        kinds.setdefault(one.kind, []).append(one)
    begin = {name.split()[0] for name in (*names, *kinds) if name}
    return _Index(names, kinds, frozenset(begin))


def _find(text: str, clock: Clock, *, is_led: bool) -> Period | None:
    if not clock.periods:
        return None
    index = _index(_Calendar(clock.periods))
    if text in index.names:
        return _latest(index.names[text], clock)
    words = text.split()
    for kind in dict.fromkeys(words):
        if kind in index.kinds:
            place = words.index(kind)
            before, behind = words[:place], words[place + 1 :]
            return _chosen(before, behind, index.kinds[kind], clock, is_led=is_led)
    return None


def _names(one: Period) -> tuple[str, str]:
    """Return a period's name as typed, and as it reads with its words in English."""
    plain = " ".join(one.name.lower().split())
    return plain, german_times.in_english(plain)


def _chosen(
    before: list[str],
    behind: list[str],
    alike: list[Period],
    clock: Clock,
    *,
    is_led: bool,
) -> Period | None:
    """Return the one of a kind that the words beside it mean."""
    turn, today = " ".join(before), clock.today
    if not behind and turn in _THIS | _LAST:
        if today is None:
            return None
        over = [one for one in alike if one.ends < today]
        return _latest(over if turn in _LAST else alike, clock)
    # A month stands before it, and a year on either side: `run may have ended`.
    years = [word for word in (*before, *behind) if _YEAR.fullmatch(word)]
    months = [word for word in before if not _YEAR.fullmatch(word)]
    if not is_led or len(years) + len(months) != len(before) + len(behind):
        return None
    month = _month(months[0]) if len(months) == 1 else 0
    if len(months) > 1 or len(years) > 1 or (months and not month):
        return None
    year = int(years[0]) if years else None
    return _latest([one for one in alike if _meets(one, year, month)], clock)


def _month(word: str) -> int:
    """Return the number of a month; of one or two letters it is none."""
    return written_forms.month(word) if len(word) >= _LETTERS else 0


def _meets(one: Period, year: int | None, month: int) -> bool:
    """Tell whether a period has a day in that month, in that year."""
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
