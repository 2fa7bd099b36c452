"""Times as sources send them, read as one moment in UTC or refused by name."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo

from shared.errors import MalformedEntryError
from shared.times import written_forms
from shared.times.rfc3339 import FIRST_YEAR, LAST_YEAR, place

Unit = Literal["s", "ms"]

# No time is longer, so that none costs more than a glance.
_LONGEST = 100
_SHOWN = 40
_SHORTEST_USUAL, _LONGEST_USUAL = len("2024-06-10T04:12Z"), 40
_MICROSECONDS = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# From here on a number counts milliseconds: as seconds it would be the year 5138.
_FIRST_MILLISECONDS = 10**11
_LOWEST = int((datetime(FIRST_YEAR, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())
_HIGHEST = int((datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?", re.ASCII)
_COMPACT = re.compile(r"\d{8}", re.ASCII)
_FEWEST_EPOCH_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Moment:
    """An aware time in UTC, and what was odd about how it was written."""

    at: datetime
    flags: tuple[str, ...] = ()


def parse_source_time(
    value: object,
    *,
    zone: str | None,
    fold: int = 0,
    unit: Unit | None = None,
    formats: Sequence[str] = (),
    day_first: bool = False,
) -> Moment:
    """Return the moment, or raise MalformedEntryError with its reason.

    Numbers count from 1970, naive times are read in `zone`. Eight digits are a date
    unless a `unit` is set. What the patterns in `formats` do not match is read only if
    day and month cannot be taken for each other.
    """
    if isinstance(value, str):
        usual = _usual(value)
        if usual is not None:
            return _of_aware(usual)
        text = " ".join(value[: 2 * _LONGEST].split())
        if len(text) > _LONGEST or len(value) > 2 * _LONGEST:
            raise _unreadable(value)
        if _NUMBER.fullmatch(text) and not formats:
            return _of_digits(text, unit, zone, fold)
        return _of_text(text, zone, fold, formats, day_first=day_first)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        compact = _compact_date(str(value)) if type(value) is int and not unit else None
        if compact is not None:
            return _placed(compact, _naive(value, zone), fold)
        return _of_number(value, unit)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return _placed(value, _naive(value, zone), fold)
        # It knows itself which of two it is.
        return _of_aware(value)
    if isinstance(value, date):
        midnight = datetime.combine(value, datetime.min.time())
        return _placed(midnight, _naive(value, zone), fold)
    raise _unreadable(value)


def _of_text(
    text: str, zone: str | None, fold: int, formats: Sequence[str], *, day_first: bool
) -> Moment:
    for pattern in formats:
        wall = _by_pattern(text, pattern)
        if wall is not None:
            return _placed(wall, wall.tzinfo or _naive(text, zone), fold)
    written = written_forms.find(text)
    if written is None and not formats:
        written = written_forms.find_numeric(text, day_first=day_first)
    if written is None:
        raise _unreadable(text)
    if not _is_near(written.year):
        raise _out_of_range(text)
    try:
        wall = written.wall()
    except ValueError:
        raise _unreadable(text) from None
    where, flags = _zone_of(written.zone, text, zone)
    moment = _placed(wall, where, fold)
    return Moment(_in_range(moment.at + written.later), (*moment.flags, *flags))


def _usual(text: str) -> datetime | None:
    """Read what most sources send, a whole RFC 3339 time, in a tenth of the time.

    Before any pattern: one that takes its `Z` for a letter would move the moment.
    """
    if not (_SHORTEST_USUAL <= len(text) <= _LONGEST_USUAL and text[10] in "Tt "):
        return None
    # The parser below stops at a NUL.
    if not text.isprintable():
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _by_pattern(text: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(text, pattern)  # noqa: DTZ007 - its zone comes next
    except (ValueError, re.error):
        return None


def _zone_of(
    written: str | None, text: str, zone: str | None
) -> tuple[tzinfo, tuple[str, ...]]:
    if written is None:
        return _naive(text, zone), ()
    known = written_forms.zone_of(written)
    if known is not None:
        return known, ()
    # As mail has it: a zone that nobody knows says no more than UTC does.
    return (_zone_info(zone) if zone else UTC), ("no_zone",)


def _of_digits(text: str, unit: Unit | None, zone: str | None, fold: int) -> Moment:
    """Read a number that is a string; a short one without a unit is a date or nothing.

    As seconds it would lie in 1970 to 1973, where no logbook begins: `20240610` would
    be August 1970, `2024` the first hour of that year.
    """
    whole = re.split("[.,]", text.lstrip("+-"), maxsplit=1)[0]
    if unit is None and len(whole) < _FEWEST_EPOCH_DIGITS:
        compact = _compact_date(text)
        if compact is None:
            raise _unreadable(text, " without a unit")
        return _placed(compact, _naive(text, zone), fold)
    return _of_number(Decimal(text.replace(",", ".")), unit)


def _compact_date(text: str) -> datetime | None:
    """Return midnight of `20240610`, or None where eight digits are no date."""
    if not _COMPACT.fullmatch(text) or not _is_near(int(text[:4])):
        return None
    return _by_pattern(text, "%Y%m%d")


def _of_number(number: float | Decimal, unit: Unit | None) -> Moment:
    # A float by its digits, as it was sent, for it is never quite what they say.
    exact = Decimal(float.__repr__(number) if isinstance(number, float) else number)
    if not exact.is_finite():
        raise _unreadable(number)
    counts_milliseconds = unit == "ms" or (
        unit is None and abs(exact) >= _FIRST_MILLISECONDS
    )
    per_second = 1000 if counts_milliseconds else 1
    if not _LOWEST * per_second <= exact < _HIGHEST * per_second:
        raise _out_of_range(number)
    microseconds = int(exact * (_MICROSECONDS // per_second))
    return Moment(_EPOCH + timedelta(microseconds=microseconds))


def _placed(wall: datetime, zone: tzinfo, fold: int) -> Moment:
    """Return the moment of a wall time, which may come twice a year, or never."""
    if not _is_near(wall.year):
        raise _out_of_range(wall)
    at, flags = place(wall, zone, fold)
    return Moment(_in_range(at), flags)


def _of_aware(at: datetime) -> Moment:
    if not _is_near(at.year):
        raise _out_of_range(at)
    return Moment(_in_range(at))


def _is_near(year: int) -> bool:
    # A day's slack: which year it is in UTC is known only with the offset.
    return FIRST_YEAR - 1 <= year <= LAST_YEAR + 1


def _in_range(at: datetime) -> datetime:
    moment = at.astimezone(UTC)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise _out_of_range(at)
    return moment


def _naive(value: object, zone: str | None) -> tzinfo:
    if zone is None:
        message = f"{_shown(value)} has no offset, and its source has no time zone."
        raise MalformedEntryError(message, reason="naive_time")
    return _zone_info(zone)


@functools.lru_cache(maxsize=256)
def _zone_info(name: str) -> tzinfo:
    return ZoneInfo(name)


def _unreadable(value: object, how: str = "") -> MalformedEntryError:
    message = f"{_shown(value)} is not a time that can be read{how}."
    return MalformedEntryError(message, reason="time_unreadable")


def _out_of_range(value: object) -> MalformedEntryError:
    message = f"{_shown(value)} lies outside the years {FIRST_YEAR} to {LAST_YEAR}."
    return MalformedEntryError(message, reason="time_out_of_range")


def _shown(value: object) -> str:
    # As ASCII: the sentence is kept where neither NUL nor half a pair can be.
    if isinstance(value, str):
        return ascii(value[:_SHOWN])
    if isinstance(value, date):
        return str(value)
    return f"A value of type {type(value).__name__}"
