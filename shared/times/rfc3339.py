"""RFC 3339: times that come in are made UTC or refused; times that leave end in Z."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import overload
from zoneinfo import ZoneInfo

from shared.errors import InvalidRequestError

FIRST_YEAR, LAST_YEAR = 1900, 2200
_LEAP_SECOND = 60

_TIME = re.compile(
    r"(?P<year>[+-]?\d{4,12})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"[Tt ](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:\.(?P<part>\d{1,18}))?)?"
    r"(?P<zone>[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?",
    re.ASCII,
)


def parse_time(text: str, path: str, *, zone: str | None) -> datetime:
    """Return the moment in UTC; naive times are read in `zone`, or refused."""
    at, _ = read_time(text, path, zone=zone)
    return at


def read_time(
    text: str, path: str, *, zone: str | None, fold: int = 0
) -> tuple[datetime, tuple[str, ...]]:
    """Return the moment in UTC, and what was odd about its wall time."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise _invalid(path, text)
    year = int(match["year"])
    # A day's slack: which year it is in UTC is known only after the offset.
    if not FIRST_YEAR - 1 <= year <= LAST_YEAR + 1 or match["year"][0] in "+-":
        raise out_of_range(path)
    local = _local(match, year, path)
    offset = _offset(match["zone"])
    if offset is None:
        if zone is None:
            message = f"{path} has no offset, and its source has no time zone."
            raise InvalidRequestError.field(
                path, "naive_time", message, top_code="naive_time"
            )
        offset = ZoneInfo(zone)
    placed, flags = place(local, offset, fold)
    moment = placed.astimezone(UTC)
    if match["second"] == str(_LEAP_SECOND):
        moment += timedelta(seconds=1)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise out_of_range(path)
    return moment, flags


def place(
    wall: datetime, zone: tzinfo, fold: int = 0
) -> tuple[datetime, tuple[str, ...]]:
    """Return a wall time in its zone; it may come twice a year, or never."""
    first = wall.replace(tzinfo=zone, fold=0)
    again = wall.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), again.utcoffset()
    if before is None or after is None or before == after:
        return first, ()
    if before > after:
        return (again if fold else first), ("time_ambiguous",)
    # By the offset from before the gap it comes out as much later as the gap is wide.
    return first, ("time_nonexistent",)


@overload
def timestamp(moment: datetime) -> str: ...
@overload
def timestamp(moment: datetime | None) -> str | None: ...
def timestamp(moment: datetime | None) -> str | None:
    """Return a time as it leaves: RFC 3339, UTC, Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_cursor_time(value: object) -> datetime | None:
    """Return the moment that the cursor of a source holds; None: it holds none."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def on_clock(moment: datetime, zone: ZoneInfo) -> str:
    """Return a time as the clocks of a zone show it, UTC beside it."""
    there, utc = moment.astimezone(zone), moment.astimezone(UTC)
    if zone.key == "UTC":
        return f"{utc:%Y-%m-%d %H:%M} UTC"
    # A date of its own only where the two differ in it.
    beside = f"{utc:%H:%M}" if utc.date() == there.date() else f"{utc:%m-%d %H:%M}"
    return f"{there:%Y-%m-%d %H:%M %Z} ({beside} UTC)"


def _local(match: re.Match[str], year: int, path: str) -> datetime:
    second = int(match["second"] or 0)
    microsecond = int((match["part"] or "0").ljust(6, "0")[:6])
    try:
        return datetime(  # noqa: DTZ001 - the zone is read apart from the wall time
            year,
            int(match["month"]),
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            # The leap second is added once the offset is known.
            59 if second == _LEAP_SECOND else second,
            0 if second == _LEAP_SECOND else microsecond,
        )
    except ValueError as exc:
        raise _invalid(path, match[0]) from exc


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text in "Zz":
        return UTC
    digits = text[1:].replace(":", "")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-size if text[0] == "-" else size)


def _invalid(path: str, text: str) -> InvalidRequestError:
    message = f"{path}: {text[:100]!r} is not a time such as 2026-03-02T05:10:00+01:00."
    return InvalidRequestError.field(path, "invalid_time", message)


def out_of_range(path: str) -> InvalidRequestError:
    """Return the refusal of a year that nobody means."""
    message = f"{path} lies outside the years {FIRST_YEAR} to {LAST_YEAR}."
    return InvalidRequestError.field(
        path, "time_out_of_range", message, top_code="time_out_of_range"
    )
