"""Dates as people ask for them: `2024-06`, `yesterday`, `last owl shift`, `a..b`."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TypeVar
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from shared.times import period_words, written_forms
from shared.times.calendar import Clock, Span, is_near
from shared.times.day_words import day_of, month_of, named_shift
from shared.times.rfc3339 import place

_Day = TypeVar("_Day", date, datetime)

# No date is longer, so that none costs more than a glance.
MAX_CHARS = 60

_DAY, _MINUTE, _SECOND = timedelta(days=1), timedelta(minutes=1), timedelta(seconds=1)
_BOUND = re.compile(r"(?P<sign>>=|<=|>|<|(?:since|from|after|before|until)(?= ))")
_YEAR = re.compile(r"\d{4}", re.ASCII)
# The year of a year, a month or a week.
_FAR_YEAR = re.compile(r"(\d{4})(?:-w?\d\d?)?$", re.ASCII | re.IGNORECASE)
_MONTH = re.compile(r"(\d{4})[-/](\d\d?)", re.ASCII)
_WEEK = re.compile(r"(\d{4})-w(\d\d?)", re.ASCII)
_NAMED_MONTH = re.compile(
    r"(?:(beginning|middle|end) of )?([a-z]{3,9})\.?(?: (\d{4}))?", re.ASCII
)
# The days of a month from which and up to which a part of it may be meant.
_PARTS_OF_MONTH = {"beginning": (1, 10), "middle": (10, 21), "end": (20, 31)}
# Among other words a spring without its year may be a part.
_SEASON = re.compile(
    r"(?:(?P<turn>last|this) )?(?P<name>winter|spring|summer|autumn|fall)"
    r"(?: (?P<year>\d{4}))?",
    re.ASCII,
)
# The month that begins each, north of the equator.
_BEGINS_IN = {"winter": 12, "spring": 3, "summer": 6, "autumn": 9, "fall": 9}
_DECEMBER = 12
_SOUTH = re.compile(
    r"Australia/|Antarctica/|America/(?:Argentina|Santiago|Sao_Paulo|Montevideo)"
    r"|Africa/(?:Johannesburg|Windhoek)|Pacific/Auckland|NZ\Z"
)
_TURN = re.compile(r"(this|current|last|previous|past) (hour|day|week|month|year)")
_SOME = re.compile(
    r"(?:(?P<rolling>last|past|previous) )?(?P<count>\d{1,4}|an?|few|couple) "
    r"(?P<unit>minute|hour|day|week|month|year)s?(?P<ago> ago)?",
    re.ASCII,
)
_PART = re.compile(r"(?P<day>\S.*) (?P<part>morning|afternoon|evening)")
_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24)}
# At least, and at most.
_VAGUE = {"few": (2, 5), "couple": (1, 3)}
_LASTS = {"minute": _MINUTE, "hour": 60 * _MINUTE, "day": _DAY, "week": 7 * _DAY}
# As long as the calendar has them.
_CALENDAR_UNITS = frozenset({"month", "year"})
_WITH_SECONDS = re.compile(r":\d\d:\d\d|t\d{6}", re.ASCII)
_NOW = re.compile(r"now|right now")


def parse_date_expression(text: str, clock: Clock) -> Span | None:
    """Return the interval that a text names, or None; never raises."""
    plain = " ".join(text.lower().replace("'s", "").replace("\u2019s", "").split())
    if not plain or len(plain) > MAX_CHARS:
        return None
    try:
        span = _range(plain, clock)
        return span if span and _is_span(span) else None
    except (ValueError, OverflowError):
        # No such day, or none that a calendar goes to.
        return None


def is_far(text: str) -> bool:
    """Tell whether a text is a date too far from those of entries to compare with."""
    plain = text.strip()
    first = _FAR_YEAR.match(plain)
    written = written_forms.find(plain[:MAX_CHARS])
    year = written.year if written else int(first[1]) if first else None
    return year is not None and not is_near(year)


def bounded(name: str, span: Span) -> Span:
    """Return the interval of a field such as `since:`, given that of its value.

    Of a wall time that comes twice a beginning is the first, an end the second.
    """
    if name in {"since", "from", ">="}:
        return Span(span.since, None, span.again)
    if name in {"after", ">"}:
        # Where it comes twice, past the first: no more is left out than was said.
        return Span(span.until and span.until - span.again, None, span.again)
    if name in {"before", "<"}:
        return Span(None, span.since and span.since + span.again, span.again)
    return Span(None, span.until, span.again) if name in {"until", "<="} else span


def _is_span(span: Span) -> bool:
    ends = [end for end in (span.since, span.until) if end is not None]
    # A day's slack: where a year begins in UTC is another question.
    return (
        bool(ends)
        and ends == sorted(set(ends))
        and all(is_near((e + _DAY).year) or is_near((e - _DAY).year) for e in ends)
    )


def _range(text: str, clock: Clock) -> Span | None:
    first, dots, last = text.partition("..")
    if dots:
        begins = _point(first.strip(), clock) if first.strip() else Span(None, None)
        ends = _point(last.strip(), clock) if last.strip() else Span(None, None)
        return Span(begins.since, ends.until) if begins and ends else None
    bound = _BOUND.match(text)
    if bound is None:
        return _point(text, clock)
    span = _point(text[bound.end() :].strip().removeprefix("the "), clock)
    return bounded(bound["sign"], span) if span else None


def _point(text: str, clock: Clock) -> Span | None:
    return _calendar(text, clock) or _clock_time(text, clock) or _relative(text, clock)


def _calendar(text: str, clock: Clock) -> Span | None:
    if _YEAR.fullmatch(text) and is_near(int(text)):
        return clock.year(int(text))
    month = _MONTH.fullmatch(text)
    if month and is_near(int(month[1])):
        return clock.month(int(month[1]), int(month[2]))
    week = _WEEK.fullmatch(text)
    if week and is_near(int(week[1])):
        return clock.week(date.fromisocalendar(int(week[1]), int(week[2]), 1))
    named = _NAMED_MONTH.fullmatch(text)
    number = month_of(named[2]) if named else None
    if named and number:
        year = int(named[3]) if named[3] else _latest_year(number, clock)
        if not year or not is_near(year):
            return None
        whole = clock.month(year, number)
        return _part_of(whole, named[1], date(year, number, 1), clock)
    one = day_of(text, clock)
    return clock.day(one) if one and is_near(one.year) else None


def _part_of(month: Span, part: str | None, first: date, clock: Clock) -> Span | None:
    """Return a month, or its beginning, middle or end once that has begun."""
    if part is None or month.until is None:
        return month
    begins, ends = _PARTS_OF_MONTH[part]
    days = clock.days(first + (begins - 1) * _DAY, first + ends * _DAY)
    if not days.since or not days.until or (clock.now and days.since > clock.now):
        return None
    return Span(days.since, min(days.until, month.until))


def _season(text: str, clock: Clock) -> Span | None:
    """Return the season of a year, or the last one; a winter may be either of two."""
    found, now = _SEASON.fullmatch(text), clock.now
    if found is None or now is None:
        return None
    month = _BEGINS_IN[found["name"]]
    month = (month + 5) % 12 + 1 if _SOUTH.match(clock.zone) else month
    year = int(found["year"] or now.year)
    known = []
    for begins in (date(one, month, 1) for one in (year - 2, year - 1, year)):
        span = clock.days(begins, begins + relativedelta(months=3))
        if span.since and span.until and span.since <= now:
            known.append((begins.year, span.since, span.until))
    if found["turn"] and not found["year"]:
        over = found["turn"] == "last"
        chosen = [one for one in known if (one[2] <= now) is over][-1:]
    elif found["year"]:
        wanted = {year, year - (month == _DECEMBER)}
        chosen = [one for one in known if one[0] in wanted]
    else:
        return None
    if not chosen:
        return None
    (_, since, _), (_, last, until) = chosen[0], chosen[-1]
    return Span(since, until, last - since)


def _latest_year(month: int, clock: Clock) -> int | None:
    today = clock.today
    if today is None:
        return None
    return today.year if month <= today.month else today.year - 1


def _clock_time(text: str, clock: Clock) -> Span | None:
    """Read a date with a time of day; where it comes twice, from the first on."""
    written = written_forms.find(text)
    if written is None or not is_near(written.year):
        return None
    zone: tzinfo | None = ZoneInfo(clock.zone)
    if written.zone is not None:
        zone = written_forms.zone_of(written.zone)
    if zone is None:
        return None
    since, until = (
        place(written.wall(), zone, fold)[0].astimezone(UTC) + written.later
        for fold in (0, 1)
    )
    width = _SECOND if _WITH_SECONDS.search(text) else _MINUTE
    return Span(since, until + width, until - since)


def _relative(text: str, clock: Clock) -> Span | None:
    now = clock.now
    if now is None:
        return None
    now = now.astimezone(UTC)
    if _NOW.fullmatch(text):
        return Span(now, now + _SECOND)
    turn = _TURN.fullmatch(text)
    if turn and (turn[1] == "past" or turn[0] == "last hour"):
        return Span(_back(now, 1, turn[2], clock), now)
    if turn:
        return _turn(turn[2], clock, now, is_this=turn[1] in {"this", "current"})
    some = _SOME.fullmatch(text)
    if some and bool(some["rolling"]) != bool(some["ago"]):
        return _some(some, clock, now)
    return (
        period_words.find_period(text, clock)
        or _season(text, clock)
        or named_shift(text, clock)
        or _part_of_day(text, clock)
    )


def _turn(unit: str, clock: Clock, now: datetime, *, is_this: bool) -> Span | None:
    """Return this hour, day, week, month or year, or the previous one."""
    today = clock.today
    if today is None:
        return None
    if unit == "hour":
        begins = now.replace(minute=0, second=0, microsecond=0)
        begins -= timedelta(0) if is_this else timedelta(hours=1)
        return Span(begins, begins + timedelta(hours=1))
    if unit == "day":
        return clock.day(today if is_this else today - _DAY)
    if unit == "week":
        return clock.week(today if is_this else today - 7 * _DAY)
    if unit == "year":
        return clock.year(today.year - (not is_this))
    last = today if is_this else today.replace(day=1) - _DAY
    return clock.month(last.year, last.month)


def _some(some: re.Match[str], clock: Clock, now: datetime) -> Span | None:
    """Return the last so many hours up to now, or the single one so many ago."""
    count = int(some["count"]) if some["count"].isdigit() else 1
    least, most = _VAGUE.get(some["count"], (count, count))
    unit = some["unit"]
    if some["rolling"]:
        return Span(_back(now, most, unit, clock), now)
    today = clock.today
    if today is None or unit in {"minute", "hour"}:
        return Span(now - most * _LASTS[unit], now - (least - 1) * _LASTS[unit])
    return clock.days(_before(today, most, unit), _before(today, least, unit) + _DAY)


def _back(now: datetime, count: int, unit: str, clock: Clock) -> datetime:
    """Return the moment so many units ago, months and years on the facility's wall."""
    if unit not in _CALENDAR_UNITS:
        return now - count * _LASTS[unit]
    wall = now.astimezone(ZoneInfo(clock.zone)).replace(tzinfo=None)
    return clock.moment(_before(wall, count, unit))


def _before(day: _Day, count: int, unit: str) -> _Day:
    if unit in _CALENDAR_UNITS:
        earlier: _Day = day - relativedelta(**{f"{unit}s": count})
        return earlier
    return day - count * _LASTS[unit]


def _part_of_day(text: str, clock: Clock) -> Span | None:
    match = _PART.fullmatch(text)
    if match is None:
        return None
    said = {"this": "today", "last": "yesterday"}.get(match["day"], match["day"])
    one = day_of(said, clock)
    if one is None or clock.now is None:
        return None
    first, after = _PARTS[match["part"]]
    midnight = datetime.combine(one, datetime.min.time())
    if match["day"] == "this":
        # The day by the calendar is meant, also where the facility's begins at noon.
        wall = clock.now.astimezone(ZoneInfo(clock.zone)).replace(tzinfo=None)
        midnight = datetime.combine(wall, datetime.min.time())
        # Who asks in the small hours means these.
        first = 0 if match["part"] == "morning" and wall.hour < first else first
    elif first < clock.day_starts.hour:
        midnight += _DAY
    since, until = (
        clock.moment(midnight + timedelta(hours=hour)) for hour in (first, after)
    )
    return Span(since, until)
