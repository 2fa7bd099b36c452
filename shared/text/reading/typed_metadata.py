"""Metadata by type: as the settings of their source declare it, or as it is plain."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from shared.errors import MalformedEntryError
from shared.text.facts import as_number, size
from shared.times import source_times

Kind: TypeAlias = Literal["number", "date", "text"]

_MAX_CHARS = 60
# With zeros before it, too: what is declared to be a number is no name.
_NUMBER = re.compile(r"[+-]?\d{1,21}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
# A date whoever writes it: nothing else begins so.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.{0,24})?", re.ASCII)
_EITHER = re.compile(r"(\d\d?)[-/](\d\d?)[-/]\d{4}", re.ASCII)
_MONTHS = 12
_HAS_CLOCK = re.compile(r"\d:\d|\dT\d|^\d{9,}", re.ASCII)


class Typed(NamedTuple):
    """A value as it is shown and compared; as a number or a moment, if it is one."""

    text: str
    number: float | None = None
    # In seconds since 1970.
    moment: float | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """What a source says of its metadata: the type of each name, levels by dots."""

    kinds: tuple[tuple[str, Kind], ...] = ()
    # The time zone of moments that are written without one.
    zone: str = "UTC"

    def read(self, name: str, value: str) -> Typed:
        """Return a value by its type; one that is not of it is a text."""
        kind = dict(self.kinds).get(name)
        if kind == "text":
            return Typed(value)
        if kind == "number":
            return _number(value)
        if kind == "date":
            return self._date(value)
        if _DATE.fullmatch(value):
            # As it is written: nobody has said that it means nothing else.
            return self._date(value)._replace(text=value)
        return Typed(as_number(value), size(value))

    def _date(self, value: str) -> Typed:
        if len(value) > _MAX_CHARS or _is_either(value):
            return Typed(value)
        try:
            at = source_times.parse_source_time(value, zone=self.zone).at
            # A day is that day, wherever it begins.
            day = source_times.parse_source_time(value, zone="UTC").at.date()
        except MalformedEntryError:
            return Typed(value)
        is_day = not _HAS_CLOCK.search(value)
        shown = day.isoformat() if is_day else at.isoformat().replace("+00:00", "Z")
        return Typed(shown, moment=at.timestamp())


def _is_either(value: str) -> bool:
    """Tell whether the day may be the month, as in 03/04/2024."""
    match = _EITHER.match(value)
    if match is None:
        return False
    first, other = int(match[1]), int(match[2])
    return first != other and max(first, other) <= _MONTHS


def _number(value: str) -> Typed:
    plain = value.strip()
    if not _NUMBER.fullmatch(plain):
        return Typed(value)
    text = as_number(str(Decimal(plain).normalize() + 0))
    return Typed(text, size(text))


# A source that declares no types.
NOTHING = Declared()
