"""The shapes in which logbooks write a time, apart from what moment it was."""

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

_LEAP_SECOND = 60
_NOON, _HOURS_A_DAY, _MINUTES_AN_HOUR = 12, 24, 60
_FIRST_OF_LAST_CENTURY = 50

_CLOCK = (
    r"(?P<hour>\d\d?(?=:)|\d\d):?(?P<minute>\d\d)"
    r"(?::?(?P<second>\d\d)(?:[.,](?P<part>\d{1,18}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
)
_ZONE = (
    r"(?: ?(?P<zone>(?:UTC|GMT)?[+-]\d\d?(?::?\d\d)?|[A-Za-z][A-Za-z0-9/_+-]{0,30}))?"
    r"(?: ?\([^()]*\))?"
)
# A zone is that of a clock; what else follows a date is not looked at for one.
_REST = rf"(?:,? {_CLOCK}{_ZONE})?"
_REST_OF_ISO = rf"(?:(?:[Tt]|,? ){_CLOCK}{_ZONE})?"
_WEEKDAY = r"(?:[A-Za-z]{2,9}\.?,? )?"
_MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>\d\d?)"
_YEAR = r"(?P<year>\d{4})"

# 2024-06-10T04:12:00.5Z, 2024/06/10 04:12, 2024-06-10 04:12 EST, 2024-06-10
_ISO = (
    r"(?P<year>[+-]?\d{4,12})(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)"
    rf"{_DAY}{_REST_OF_ISO}"
)
# 20240610T041200Z
_BASIC = rf"{_YEAR}(?P<month>\d\d)(?P<day>\d\d)[Tt ]{_CLOCK}{_ZONE}"
# Mon, 10 Jun 2024 04:02:11 -0700
_MAIL = rf"{_WEEKDAY}{_DAY}[ -]{_MONTH}[ -](?P<year>\d{{2,4}}){_REST}"
# Fri May  3 09:15:00 CEST 2002
_CTIME = rf"{_WEEKDAY}{_MONTH} {_DAY},? {_CLOCK}{_ZONE} {_YEAR}"
# May 3, 2002 9:15 AM
_AMERICAN = rf"{_WEEKDAY}{_MONTH} {_DAY},? {_YEAR}{_REST}"
_SHAPES = [
    re.compile(shape, re.ASCII) for shape in (_ISO, _BASIC, _MAIL, _CTIME, _AMERICAN)
]
_NUMERIC = re.compile(
    rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<other>\d\d?)(?P=mark){_YEAR}{_REST_OF_ISO}",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d?):?(\d\d)?", re.ASCII)

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
# A fixed table: abbreviations that mean two zones are not in it.
_HOURS = {
    -10: "HST",
    -9: "AKST YST HDT",
    -8: "PST AKDT YDT",
    -7: "MST PDT",
    -6: "CST MDT",
    -5: "EST CDT",
    -4: "EDT",
    0: "Z UT UTC GMT WET",
    1: "CET MET WEST",
    2: "CEST MEST EET",
    3: "EEST",
    9: "JST",
}
_NAMED = {
    name: timezone(timedelta(hours=hours))
    for hours, names in _HOURS.items()
    for name in names.split()
}


class Numeric(NamedTuple):
    """The three numbers of a date whose year comes last."""

    first: int
    other: int
    year: int


class WrittenTime(NamedTuple):
    """A date, with a wall time perhaps and a zone perhaps, as it stands there."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    microsecond: int
    # What the clock cannot show: a leap second, and 24:00.
    later: timedelta
    # As written; None: nothing was.
    zone: str | None

    def wall(self) -> datetime:
        """Return the time of the clock, or raise ValueError."""
        return datetime(*self[:7])  # noqa: DTZ001 - its zone is another question


def find(text: str) -> WrittenTime | None:
    """Read a shape in which the month cannot be taken for the day."""
    for shape in _SHAPES:
        match = shape.fullmatch(text)
        if match:
            name = match.groupdict().get("name")
            number = month(name) if name else int(match["month"])
            return _written(match, number, int(match["day"]))
    return None


def find_numeric(text: str, *, day_first: bool) -> WrittenTime | None:
    """Read a date of three numbers with the year last; with points, the day leads."""
    match = _NUMERIC.fullmatch(text)
    if match is None:
        return None
    first, other = int(match["first"]), int(match["other"])
    if day_first or match["mark"] == ".":
        return _written(match, other, first)
    return _written(match, first, other)


def find_order(text: str) -> Numeric | None:
    """Return the numbers of a date in which day and month may be taken for each other.

    With points the day leads.
    """
    match = _NUMERIC.fullmatch(text)
    if match is None or match["mark"] == "." or not int(match["year"]):
        return None
    return Numeric(int(match["first"]), int(match["other"]), int(match["year"]))


def month(name: str) -> int:
    """Return the number of a month by its English name, however short; 0 is none."""
    wanted = "sep" if name.lower() == "sept" else name.lower()
    for number, one in enumerate(MONTHS, 1):
        if one.startswith(wanted):
            return number
    return 0


def zone_of(text: str) -> tzinfo | None:
    """Return the zone of a written offset or abbreviation; None: unknown."""
    named = _NAMED.get(text.upper())
    if named is not None:
        return named
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    hours, minutes = int(match[2]), int(match[3] or 0)
    if hours >= _HOURS_A_DAY or minutes >= _MINUTES_AN_HOUR:
        return None
    size = timedelta(hours=hours, minutes=minutes)
    return timezone(-size if match[1] == "-" else size)


def _written(match: re.Match[str], month: int, day: int) -> WrittenTime:
    hour, minute = _hour(match), int(match["minute"] or 0)
    second = int(match["second"] or 0)
    microsecond = int((match["part"] or "0").ljust(6, "0")[:6])
    later = timedelta()
    if second == _LEAP_SECOND:
        second, microsecond, later = second - 1, 0, timedelta(seconds=1)
    if hour == _HOURS_A_DAY and minute == second == microsecond == 0:
        hour, later = 0, timedelta(days=1)
    date = (_year(match["year"]), month, day)
    return WrittenTime(*date, hour, minute, second, microsecond, later, match["zone"])


def _year(text: str) -> int:
    """Return the year; of two or three digits as in mail. A sign is nowhere near."""
    year = int(text) if text[0] not in "+-" else 0
    if len(text) == len("99"):
        return year + (2000 if year < _FIRST_OF_LAST_CENTURY else 1900)
    return year + 1900 if len(text) == len("999") else year


def _hour(match: re.Match[str]) -> int:
    hour = int(match["hour"] or 0)
    half = match["half"]
    if not half:
        return hour
    if not 1 <= hour <= _NOON:
        # No clock shows it, so that it is refused with the others that none does.
        return _HOURS_A_DAY + 1
    return hour % _NOON + (_NOON if half in "Pp" else 0)
