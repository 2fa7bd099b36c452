"""The days that a text names, in words and numbers, and whether its sources do, too."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from shared.text.words.folding import fold
from shared.times.calendar_names import (
    DAYS_LATER,
    MONTH_OF,
    SHORT_MONTH_OF,
    WEEKDAY_OF,
)

_WORD = re.compile(r"[^\W\d_]{3,}")
_RELATIVE = {fold(word): days for word, days in DAYS_LATER.items()}
_MONTHS = {fold(name): number for name, number in MONTH_OF.items()}
_SHORT = {fold(name): number for name, number in SHORT_MONTH_OF.items()}
_WEEKDAYS = {fold(name): number for name, number in WEEKDAY_OF.items()}
_NAMES = frozenset().union(_RELATIVE, _MONTHS, _SHORT, _WEEKDAYS)
# Behind a German weekday: `montags`, `Montagmorgen`.
_PART_OF_DAY = re.compile(
    r"(?<=day)s\Z|(?<=tag)(?:s|vormittag|nachmittag|mittag|abend|nacht|morgen)\Z"
)
# These are words of other kinds, unless something beside them dates.
_CAPITALISED = frozenset({"may", "march"})
_LED = frozenset({"mars", "mai"})
_ALSO_WORDS = _CAPITALISED | _LED
_DATING = re.compile(r"(?i)\b(?:in|since|until|of|by|en|de|depuis)\s\Z")
_NTH = r"\d{1,2}(?:st|nd|rd|th|er|\.|\u00ba)?"
_JOINS = r"\s?(?:,|-|\u2013|and|und|et|e|y|to|bis|au|al|a)\s?(?:der |le |il |el |l')?"
_BEFORE = re.compile(
    rf"(?i)(?<![\w:.,/-])(?P<days>(?:{_NTH}{_JOINS}){{0,3}}{_NTH}) (?:of |de |di )?\Z"
)
_BEHIND = re.compile(
    rf"(?i)\.? (?P<days>{_NTH}(?:\s?(?:-|\u2013|,|and|to)\s?{_NTH}){{0,3}})(?![:.,]?\d)"
)
_YEAR = re.compile(r"(?i)\.?,? (?:del? )?(?P<year>(?:19|20)\d\d)\b")
_NUMBER = re.compile(r"\d{1,2}")
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
_NUMERIC = re.compile(
    r"(?<![\d.,/])(?P<day>\d{1,2})(?P<mark>[./])(?P<month>\d{1,2})(?P=mark)"
    r"(?P<year>(?:19|20)\d\d)\b"
)
# Without a year it may as well end a sentence: `at 3.5.`.
_GERMAN = re.compile(
    r"(?i)\b(?:am|vom|bis|seit|ab|zum|den|dem)\s(?P<day>\d{1,2})\.(?P<month>\d{1,2})\."
    r"(?P<year>)(?!\d)"
)
_MONTHS_A_YEAR, _MOST_DAYS = 12, 31
# So far before its month the first of several days may stand.
_REACH = 40
_DAY = timedelta(days=1)


class WrittenDate(NamedTuple):
    """A month, or days of one, as a text writes it; the year, where it has one."""

    month: int
    days: tuple[int, ...]
    year: int | None
    start: int
    end: int
    # With strokes the month may stand first.
    may_be_turned: bool = False

    @property
    def readings(self) -> frozenset[tuple[int, int]]:
        """Return each month and day that it may be."""
        found = {(self.month, day) for day in self.days}
        if self.may_be_turned:
            found |= {(day, self.month) for day in self.days}
        return frozenset(found)

    def is_among(self, known: AbstractSet[tuple[int, int]]) -> bool:
        """Tell whether all of its days are known ones, as it may be read."""
        if self.may_be_turned:
            return not known.isdisjoint(self.readings)
        return self.readings <= known


class NamedDays(NamedTuple):
    """The dates, weekdays and days before or after its own that a text names."""

    dates: tuple[WrittenDate, ...]
    weekdays: frozenset[int]
    relative: frozenset[int]


@lru_cache(maxsize=512)
def find_days(text: str) -> NamedDays:
    """Return the days that a text names."""
    dates = [*_find_numeric(text)]
    weekdays, relative, last = set(), set(), 0
    for found in _WORD.finditer(text):
        word = fold(found[0])
        if word not in _NAMES and not ("tag" in word or word.endswith("days")):
            continue
        weekday = _WEEKDAYS.get(word) or _WEEKDAYS.get(_PART_OF_DAY.sub("", word))
        if weekday:
            weekdays.add(weekday)
        elif word in _RELATIVE:
            relative.add(_RELATIVE[word])
        elif word in _MONTHS or word in _SHORT:
            dated = _date(text, found, last)
            if dated:
                dates.append(dated)
                last = dated.end
    return NamedDays(tuple(dates), frozenset(weekdays), frozenset(relative))


def is_day_word(word: str) -> bool:
    """Tell whether a folded word names a weekday or a month."""
    return word in _WEEKDAYS or word in _MONTHS


def strip_known_days(
    sentence: str, texts: Sequence[str], moments: Sequence[datetime]
) -> str | None:
    """Return a sentence without the dates of its sources; None: it names another day.

    `moments` are those of the sources; what they say of yesterday is of the day before.
    """
    said = find_days(sentence)
    if not (said.dates or said.weekdays):
        return sentence
    told = [find_days(text) for text in texts]
    days = {moment.date() for moment in moments}
    days |= {day + n * _DAY for day in days for one in told for n in one.relative}
    years = {day.year for day in days}
    written = [one for named in told for one in named.dates]
    weekdays = {day.isoweekday() for day in days}.union(*(one.weekdays for one in told))
    weekdays |= {
        on.isoweekday()
        for one in written
        for year in ({one.year} if one.year else years)
        for month, day in one.readings
        if (on := _make_date(year, month, day))
    }
    if not said.weekdays <= weekdays:
        return None
    known = {(day.month, day.day) for day in days}.union(*(d.readings for d in written))
    named = {one.month for one in written if one.days}
    months = {one.month for one in written} | {day.month for day in days}
    bare = sentence
    for one in sorted(said.dates, key=lambda one: -one.start):
        if one.days and one.is_among(known):
            # A year that nobody told is a number like any other.
            year = "" if one.year is None or one.year in years else one.year
            bare = f"{bare[: one.start]} {year} {bare[one.end :]}"
        elif one.month not in (months - named if one.days else months):
            return None
    return bare


def _find_numeric(text: str) -> Iterator[WrittenDate]:
    """Yield the dates in numbers alone."""
    for form in (_ISO, _NUMERIC, _GERMAN):
        for found in form.finditer(text):
            month, day = int(found["month"]), int(found["day"])
            may_be_turned = form is _NUMERIC and found["mark"] == "/"
            if may_be_turned and month > _MONTHS_A_YEAR:
                month, day = day, month
            if 1 <= month <= _MONTHS_A_YEAR and 1 <= day <= _MOST_DAYS:
                year = int(found["year"]) if found["year"] else None
                start = found.start("year" if form is _ISO else "day")
                end = found.end()
                yield WrittenDate(month, (day,), year, start, end, may_be_turned)


def _date(text: str, name: re.Match[str], last: int) -> WrittenDate | None:
    """Return the date that has the name of a month; None: it is a word here.

    `last`: where the one before it ends.
    """
    start, end, word = *name.span(), fold(name[0])
    if word in _CAPITALISED and name[0].islower():
        return None
    before = _BEFORE.search(text, max(last, start - _REACH), start)
    # `Mai 3 volte` is no day of May.
    behind = None if before or word in _LED else _BEHIND.match(text, end)
    beside = before or behind
    if behind:
        end = behind.end()
    year = _YEAR.match(text, end)
    if not (beside or year) and (
        word not in _MONTHS
        or (word in _ALSO_WORDS and not _DATING.search(text, 0, start))
    ):
        return None
    days = tuple(map(int, _NUMBER.findall(beside["days"]))) if beside else ()
    return WrittenDate(
        _MONTHS.get(word) or _SHORT[word],
        days,
        int(year["year"]) if year else None,
        before.start() if before else start,
        year.end() if year else end,
    )


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
