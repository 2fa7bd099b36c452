"""Dates of a spreadsheet: numbers of days whose cells' format shows them as dates."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

# Numbers of formats that every workbook has and none writes down.
_KNOWN_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(50, 59)})
# What a format shows as it stands: `"days"`, `\d`, `[Red]`; `[h]` counts hours.
_SHOWN_AS_IS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_COUNTED = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_OF_A_DATE = re.compile("[ymdhs]", re.IGNORECASE)
# Day 60 is one that never was, so that the days count from one before the first.
_BEGINNING = datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet knows no zone
_BEGINNING_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_AFTER_LAST = 2_958_466


def is_date_format(number: int, code: str | None) -> bool:
    """Tell whether a format, by its code if it has one, shows a date or a time."""
    if code is None:
        return number in _KNOWN_FORMATS
    first = code.partition(";")[0]
    if _COUNTED.search(first):
        return False
    return bool(_OF_A_DATE.search(_SHOWN_AS_IS.sub("", first)))


def say_date(value: str, *, is_from_1904: bool) -> str:
    """Return a number of days as a date, a time or both; what is none as it stands."""
    try:
        days = float(value)
    except ValueError:
        return value
    if not 0 <= days < _AFTER_LAST:
        return value
    begins = _BEGINNING_1904 if is_from_1904 else _BEGINNING
    try:
        at = begins + timedelta(seconds=round(days * 86_400))
    except OverflowError:
        # The last moment of all, rounded up, or days from 1904 that are too many.
        return value
    clock = at.strftime("%H:%M:%S").removesuffix(":00")
    if days < 1:
        return clock
    return f"{at:%Y-%m-%d}" if clock == "00:00" else f"{at:%Y-%m-%d} {clock}"
