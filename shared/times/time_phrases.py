"""Times as people say them among other words: `last night's owl shift`, `in July`.

In English, and in German as what it is in English. What may mean something else stays
text: a month, a weekday, a date or a year is a time only behind a word such as `in` or
`since`.
"""

import itertools
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from shared.times import (
    calendar_names,
    date_expressions,
    day_words,
    period_words,
    plain_words,
    written_forms,
)
from shared.times.calendar import Clock, Span
from shared.times.plain_words import make_plain

# No expression has more words.
MAX_WORDS = 11
# Where all of it is said; where the latest of several is meant; where the width is
# ours; where it may be either of two, or was never shown by a clock.
SURE, LIKELY, ROUGH, UNSURE = 1.0, 0.9, 0.7, 0.5

_WIDTH = timedelta(minutes=30)
_DAY, _HOURS_A_DAY = timedelta(days=1), 24
WEEKDAYS, MONTHS = frozenset(day_words.WEEKDAYS), frozenset(written_forms.MONTHS)
_WEEKDAYS, _MONTHS = "|".join(day_words.WEEKDAYS), plain_words.MONTHS
_UNITS = plain_words.UNITS
_MONTH_BESIDE_NUMBER = plain_words.MONTH_BESIDE_NUMBER
_HAPPENED = re.compile(r"(?:happened|occurred) ")
_LED = re.compile(
    r"(?P<bound>since|after|before|until) |(?:in|on|during|from|over|within|of) "
)
# An end that goes on: `owl shift last` of `owl shift last week`.
_OPEN = (" last", " this", " previous", " past", " current")
# What is a time wherever it stands.
_ALONE = re.compile(
    r"yesterday|today|day before yesterday|last night"
    rf"|(?:this|last|previous|past) (?:hour|day|week|month|year)"
    r"|(?:this|last|previous) shift"
    rf"|(?:last|past|previous) {plain_words.COUNT} (?:{_UNITS})s?"
    rf"|(?:{plain_words.COUNT}|an?) (?:{_UNITS})s? ago"
    rf"|(?:beginning|middle|end) of {_MONTH_BESIDE_NUMBER}(?: \d{{4}})?"
    r"|(?:last|this) (?:winter|summer|autumn)"
    r"|(?:winter|spring|summer|autumn|fall) \d{4}"
    rf"|last (?:{_WEEKDAYS}|{_MONTHS})"
    rf"|(?:this|(?:day before )?yesterday|today|last|{_WEEKDAYS})"
    r" (?:morning|afternoon|evening)"
    rf"|{_MONTH_BESIDE_NUMBER} \d{{4}}",
    re.ASCII,
)
_WEEKEND = re.compile(r"(?:(?:this|last|previous) )?weekend")
_MONTH_ONLY = re.compile(rf"last (?P<month>{_MONTHS})")
_DAY_OF_MONTH = re.compile(
    rf"(?P<day>\d{{1,2}}) (?P<month>{_MONTH_BESIDE_NUMBER})"
    rf"|(?P<of_month>{_MONTH_BESIDE_NUMBER}) (?P<of_day>\d{{1,2}})",
    re.ASCII,
)
_DAY_NUMBER = re.compile(
    r"(?P<number>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<year>\d{4}))?", re.ASCII
)
_MONTH_NAME = re.compile(rf"\b{_MONTH_BESIDE_NUMBER}\b")
_DAY_AT_END = re.compile(rf"(?:{_DAY_OF_MONTH.pattern})$", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_A_YEAR = re.compile(r"\b\d{4}\b", re.ASCII)
# Whose width is ours.
_VAGUE = re.compile(r"\b(?:few|couple|beginning|middle|end|winter|summer|autumn)\b")
_CLOCK = r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)"
_AROUND = re.compile(
    rf"(?:around|about|near) {_CLOCK}|at {_CLOCK.replace('P<', 'P<at_')}(?= ?[+\xb1])",
    re.ASCII,
)
_MINUTE = re.compile(rf"{_CLOCK}(?: (?:on )?(?P<day>\S.*))?", re.ASCII)
# `yesterday between 14:00 and 16:00`, `on 2024-06-10 14:00-16:00`, `14:00-16:00 today`.
_A_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_DAY_AND_CLOCKS = re.compile(
    rf"(?P<day>\S.*?),? (?:(?:between|from) )?(?P<first>{_A_CLOCK}|\d\d?)"
    rf" ?(?:and|to|until|-|\u2013) ?(?P<last>{_A_CLOCK})"
    rf"|(?P<begins>{_A_CLOCK}) ?[-\u2013] ?(?P<ends>{_A_CLOCK}) (?:on )?(?P<of>\S.*)",
    re.ASCII,
)
_DAY_AND_CLOCK = re.compile(
    rf"(?P<day>(?!around|about|near)\S.*?),? (?:at )?(?P<clock>{_A_CLOCK})", re.ASCII
)
_PART_OF_DATE = re.compile(r"(?P<day>.*\d.*) (?P<part>morning|afternoon|evening)")
_WEEK_NUMBER = re.compile(r"week (?P<week>\d{1,2})(?: (?:of )?(?P<year>\d{4}))?")
_WEEK_OF = re.compile(r"week (?:of|from) (?:the )?(?P<day>\S.*)")
_GIVE_OR_TAKE = re.compile(
    r" ?(?:\+-|\+/-|\+ -|\xb1) ?(?P<count>\d{1,3}) ?"
    r"(?P<unit>minutes?|mins?|m|hours?|h)"
    r"(?!\w)",
    re.ASCII,
)
_PAIRS = (
    ("between ", " and "),
    ("from ", " to "),
    ("from ", " until "),
    ("since ", " until "),
    ("since ", " to "),
)
_FIRST_WORDS = frozenset(
    (
        *("about", "after", "around", "at", "before", "between", "during", "from"),
        *("happened", "in", "last", "near", "occurred", "of", "on", "over", "past"),
        *("previous", "since", "the", "this", "today", "until", "within"),
        *("yesterday", "weekend", "day", "a", "an", "night", "owl", "graveyard"),
        *("overnight", "through", "anfang", "mitte", "ende"),
        *("morning", "afternoon", "evening", "winter", "spring", "summer", "autumn"),
        *("fall", "few", "couple", "start", "beginning", "middle", "mid", "end"),
        *(*calendar_names.COUNTS, *WEEKDAYS, *MONTHS, *plain_words.SHORT_MONTHS),
    )
)


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """The interval that words mean, and how sure that is."""

    span: Span
    confidence: float
    # When it happened, and not when it was written.
    is_event: bool = False
    # A time of day of which the latest is meant: beside another time it may be any.
    is_floating: bool = False
    # For a day named by its date: up to when entries about it are written.
    # 75 % of 1,354 reports on NRC events of 1999 were given on the day of the event,
    # 89 % by the end of the next day, and 91 % by that of the day after.
    told_until: datetime | None = None


def first_words(clock: Clock) -> frozenset[str]:
    """Return the words that an expression begins with, beside numbers."""
    names = [one.name for one in clock.shifts.shifts]
    own = {word for name in names for word in make_plain(name.split()).split()[:1]}
    return _FIRST_WORDS | own | period_words.first_words(clock)


def parse_time_phrase(
    text: str, clock: Clock, *, is_end: bool = True
) -> TimePhrase | None:
    """Return the interval that plain words name and nothing else, or None.

    A year in the midst of a question may count anything: `in 2000 turns`.
    """
    if clock.now is None or len(text) > 2 * date_expressions.MAX_CHARS:
        return None
    if text.endswith(_OPEN):
        return None
    if text == "overnight" and is_end:
        # Before another word it says of what kind that is: `overnight run`.
        text = "last night"
    happened = _HAPPENED.match(text)
    said = text[happened.end() :] if happened else text
    try:
        core = said.removeprefix("the ")
        found = _said(core, clock, is_end=is_end, has_the=core != said)
    except (ValueError, OverflowError):
        # No such day, or none that a calendar goes to.
        return None
    return found and replace(found, is_event=bool(happened))


def _said(text: str, clock: Clock, *, is_end: bool, has_the: bool) -> TimePhrase | None:
    between = _between(text, clock, is_end=is_end) or _day_and_clocks(text, clock)
    if between:
        return between
    led = _LED.match(text)
    rest = text[led.end() :] if led else text
    core = rest.removeprefix("the ")
    if core.isdigit() and not (is_end and _is_year(text, core, clock)):
        return None
    the = has_the or core != rest
    if period_words.is_kind(core, clock) and not the and not text.startswith("during "):
        # `in run`, and not `in the run`.
        return None
    if led is None or led["bound"] is None:
        return _around(core, clock) or _core(core, clock, is_led=bool(led), the=the)
    found = _around(core, clock) or _minute(_clock_first(core), clock)
    found = found or _core(core, clock, is_led=True)
    if found is None:
        return None
    span = date_expressions.bounded(led["bound"], found.span)
    return replace(found, span=span, told_until=None)


def _is_year(text: str, core: str, clock: Clock) -> bool:
    """Tell whether a number is a year: amounts stand behind `over`, `of`, `after`."""
    led = text.removesuffix(core).strip()
    today = clock.today
    return led in {"in", "since", "during"} and bool(today and int(core) <= today.year)


def _between(text: str, clock: Clock, *, is_end: bool) -> TimePhrase | None:
    """Read `between A and B` and `from A to B`, up to the end of B."""
    for opens, joins in _PAIRS:
        first, joined, last = text.removeprefix(opens).partition(joins)
        if not text.startswith(opens) or not joined:
            continue
        first, last = first.removeprefix("the "), last.removeprefix("the ")
        begins, ends = _clock_first(_whole_hour(first)), _clock_first(last)
        if _MINUTE.fullmatch(begins) and _MINUTE.fullmatch(ends):
            return _clocks(begins, ends, clock)
        first, last = _share_month(first, last, is_end=is_end)
        # What is a number is as likely an amount.
        if opens == "since " or first.isdigit() or last.isdigit():
            return None
        return _from_to(first, last, clock)
    return None


def _day_and_clocks(text: str, clock: Clock) -> TimePhrase | None:
    """Read from one time of day to another of a day that is named before or behind."""
    found = _DAY_AND_CLOCKS.fullmatch(text)
    if found is None:
        return None
    day = (found["day"] or found["of"]).removeprefix("on ").removeprefix("the ")
    first, last = found["first"] or found["begins"], found["last"] or found["ends"]
    return _clocks(_whole_hour(first), f"{last} {day}", clock)


def _clock_first(text: str) -> str:
    """Return `14:00 yesterday` for `yesterday 14:00`, which is said as often."""
    found = _DAY_AND_CLOCK.fullmatch(text)
    return f"{found['clock']} {found['day']}" if found else text


def _whole_hour(text: str) -> str:
    """Return `14:00` for the first of `14 und 16 Uhr`."""
    is_hour = text.isdigit() and int(text) < _HOURS_A_DAY
    return f"{text}:00" if is_hour else text


def _share_month(first: str, last: str, *, is_end: bool) -> tuple[str, str]:
    """Return `10` and `14 june` with their month; behind `june 10 to 14` is no more."""
    said, day = _DAY_OF_MONTH.match(last), _DAY_NUMBER.fullmatch(first)
    if said and day:
        return f"{day['number']} {said['month'] or said['of_month']}", last
    said, day = _DAY_OF_MONTH.fullmatch(first), _DAY_NUMBER.fullmatch(last)
    if said and day and (is_end or day["year"]):
        month = said["month"] or said["of_month"]
        return first, f"{day['number']} {month} {day['year'] or ''}".rstrip()
    return first, last


def _from_to(first: str, last: str, clock: Clock) -> TimePhrase | None:
    """Read two dates, of which one may say the year of both."""
    year = _A_YEAR.search(last)
    firsts, ends = [(first, clock)], [(last, clock)]
    if year and _DAY_OF_MONTH.fullmatch(first):
        firsts = [(f"{first} {int(year[0]) - back}", clock) for back in (0, 1)]
    elif not year and _MONTH_NAME.search(last) and clock.now is not None:
        # The first is the latest that has begun, and the last is behind it.
        ends.append((last, replace(clock, now=clock.now + relativedelta(years=1))))
    for begin, end in itertools.product(firsts, ends):
        since, until = (_core(one, at, is_led=True) for one, at in (begin, end))
        if since is None or until is None:
            continue
        span = Span(since.span.since, until.span.until)
        if span.since and span.until and span.since < span.until:
            return TimePhrase(span, min(since.confidence, until.confidence))
    return None


def _clocks(first: str, last: str, clock: Clock) -> TimePhrase | None:
    """Read from one time of day to the next other; one that is named lends its day."""
    ends = [_MINUTE.fullmatch(one) for one in (first, last)]
    days_, walls = [], []
    for end in ends:
        if end is None:
            return None
        at = time(int(end["hour"]), int(end["minute"]))
        days_.append(end["day"] or "")
        walls.append((_wall(end["day"] or "", at, timedelta(), clock), at))
    (since, since_at), (until, until_at) = walls
    if since is None or until is None:
        return None
    if not days_[1]:
        until = datetime.combine(since.date(), until_at)
        until += _DAY * (until <= since)
    elif not days_[0]:
        since = datetime.combine(until.date(), since_at)
        since -= _DAY * (until <= since)
    if since >= until:
        return None
    begins, ends_ = clock.moment(since), clock.moment(until, fold=1)
    is_once = begins == clock.moment(since, fold=1) and ends_ == clock.moment(until)
    if begins >= ends_:
        # An hour that no clock showed is read as the one behind it.
        begins, ends_, is_once = ends_, begins, False
    is_dated = any(days_)
    sure = (SURE if is_dated else LIKELY) if is_once else UNSURE
    return TimePhrase(Span(begins, ends_), sure, is_floating=not is_dated)


def _core(
    text: str, clock: Clock, *, is_led: bool, the: bool = False
) -> TimePhrase | None:
    """Read a day, a week, a shift or a period; `is_led`: behind `in`, say."""
    # `day 2024-06-11` is as likely that day as its shift of that name.
    is_either = text.startswith("day ") and "shift" not in text.split()
    if not text or _LED.match(text) or ".." in text:
        return None
    period = period_words.find_period(text, clock, is_led=is_led or the)
    if period:
        many = " " in text
        return TimePhrase(period, _sure(text)) if is_led or many else None
    if _ALONE.fullmatch(text):
        month = _MONTH_ONLY.fullmatch(text)
        if month:
            span = _last_month(month["month"], clock)
        else:
            span = date_expressions.parse_date_expression(text, clock)
        return TimePhrase(span, _sure(text)) if span else None
    if _WEEKEND.fullmatch(text) and (is_led or " " in text):
        is_over = text.startswith(("last", "previous"))
        weekend = day_words.weekend(clock, is_over=is_over)
        return TimePhrase(weekend, LIKELY) if weekend else None
    shift = day_words.named_shift(_with_date(text, clock), clock)
    if shift and not is_either:
        # By its name alone it may be any: `during the owl shift` means the latest.
        bare = day_words.is_bare_shift(text, clock)
        if bare and not (is_led and "shift" in text.split()):
            return None
        is_latest = bare or "last" in text.split() or text == "this night"
        sure = LIKELY if is_latest else SURE
        return TimePhrase(shift, ROUGH if text.startswith("night of ") else sure)
    if not is_led or is_either or not _is_dated(text):
        return None
    part = _PART_OF_DATE.fullmatch(text)
    said = f"{_with_date(part['day'], clock)} {part['part']}" if part else text
    span = _day_of_month(text, clock) or _week_of_year(text, clock)
    span = span or date_expressions.parse_date_expression(said, clock)
    until = _told_until(text, clock)
    return TimePhrase(span, _sure(text), told_until=until) if span else None


def _last_month(name: str, clock: Clock) -> Span | None:
    """Return the latest month of a name that is over."""
    span = date_expressions.parse_date_expression(name, clock)
    if span and span.until and clock.now and span.until > clock.now:
        a_year_ago = replace(clock, now=clock.now - relativedelta(years=1))
        return date_expressions.parse_date_expression(name, a_year_ago)
    return span


def _told_until(text: str, clock: Clock) -> datetime | None:
    """Return the end of the day behind a date; None: it is none, or not that old."""
    one = day_words.day_of(_with_date(text, clock), clock)
    today = clock.today
    if one is None or today is None or one >= today or not _DIGIT.search(text):
        return None
    return clock.day(one + _DAY).until


def _day_of_month(text: str, clock: Clock) -> Span | None:
    """Read `10 June` and `June 10th`, the latest that there was."""
    found = _DAY_OF_MONTH.fullmatch(text)
    one = _date_of(found, clock) if found else None
    return clock.day(one) if one else None


def _week_of_year(text: str, clock: Clock) -> Span | None:
    """Read `week 24`, the latest that has begun, `week 24 2023`, `week of june 3`."""
    if said := _WEEK_OF.fullmatch(text):
        one = day_words.day_of(_with_date(said["day"], clock), clock)
        return clock.week(one) if one else None
    found, today = _WEEK_NUMBER.fullmatch(text), clock.today
    if found is None or today is None:
        return None
    year, week = int(found["year"] or today.year), int(found["week"])
    begins = date.fromisocalendar(year, week, 1)
    if begins > today and not found["year"]:
        begins = date.fromisocalendar(year - 1, week, 1)
    return clock.week(begins)


def _date_of(found: re.Match[str], clock: Clock) -> date | None:
    number = day_words.month_of((found["month"] or found["of_month"]).rstrip("."))
    today = clock.today
    if number is None or today is None:
        return None
    day = int(found["day"] or found["of_day"])
    one = date(today.year, number, day)
    return one if one <= today else date(today.year - 1, number, day)


def _with_date(text: str, clock: Clock) -> str:
    """Return a text that ends in a day of a month with the date that it was."""
    found = _DAY_AT_END.search(text)
    one = _date_of(found, clock) if found else None
    return f"{text[: found.start()]}{one}" if found and one else text


def _minute(text: str, clock: Clock) -> TimePhrase | None:
    """Read `06:45` and `06:45 yesterday`, from where on or up to where it goes."""
    found = _MINUTE.fullmatch(text)
    if found is None:
        return None
    day = found["day"] or ""
    at = time(int(found["hour"]), int(found["minute"]))
    return _at(day, at, timedelta(), SURE if day else LIKELY, clock)


def _is_dated(text: str) -> bool:
    """Tell whether words behind `in` or `on` may be a date: no amount, not `now`."""
    if text.isdigit():
        return bool(_A_YEAR.fullmatch(text))
    return text not in {"now", "right now"}


def _sure(text: str) -> float:
    """Return how sure it is: the latest month or week of a name is likely meant."""
    if _VAGUE.search(text):
        return ROUGH
    exact = _A_YEAR.search(text) and not text.isdigit()
    exact = exact or text in {"today", "yesterday"}
    return SURE if exact or text.endswith(" ago") else LIKELY


def _around(text: str, clock: Clock) -> TimePhrase | None:
    """Read `around 06:45 +-30 min`, of a day or the latest that there was."""
    found = _AROUND.search(text)
    if found is None:
        return None
    before, after = text[: found.start()].strip(), text[found.end() :]
    width, said = _WIDTH, _GIVE_OR_TAKE.match(after)
    if said:
        unit = timedelta(hours=1) if said["unit"][0] == "h" else timedelta(minutes=1)
        width, after = int(said["count"]) * unit, after[said.end() :]
    at = time(
        int(found["hour"] or found["at_hour"]),
        int(found["minute"] or found["at_minute"]),
    )
    day = f"{before} {after.strip()}".strip().removeprefix("on ")
    if not width:
        return None
    sure = (SURE if day else LIKELY) if said else ROUGH
    return _at(day, at, width, sure, clock)


def _at(
    day: str, at: time, width: timedelta, sure: float, clock: Clock
) -> TimePhrase | None:
    """Return so much before and after a time of day, which may come twice."""
    wall = _wall(day, at, width, clock)
    if wall is None:
        return None
    first, second = clock.moment(wall), clock.moment(wall, fold=1)
    shown = first.astimezone(ZoneInfo(clock.zone)).replace(tzinfo=None)
    if first != second or shown != wall:
        sure = UNSURE
    span = Span(first - width, second + width, second - first)
    return TimePhrase(span, sure, is_floating=not day)


def _wall(day: str, at: time, width: timedelta, clock: Clock) -> datetime | None:
    """Return the wall time of a day that is named, or the latest there was."""
    if day:
        one = day_words.day_of(_with_date(day, clock), clock)
        if one is None:
            return None
        # The night of a day that begins at noon is the morning of the next date.
        return datetime.combine(one if at >= clock.day_starts else one + _DAY, at)
    now = clock.now
    if now is None:
        return None
    today = now.astimezone(ZoneInfo(clock.zone)).date()
    latest = datetime.combine(today, at)
    begun = clock.moment(latest) - width <= now.astimezone(UTC)
    return latest if begun else latest - _DAY


# Further back nobody means a date without its year.
MOST_YEARS = 10
_MONTH = re.compile(rf"(?<!last )\b(?:{_MONTHS})\b")


def list_earlier_years(text: str, clock: Clock) -> list[TimePhrase]:
    """Return the phrase's interval in each earlier year; none if it names a year."""
    is_dated = _MONTH.search(text) or _DAY_OF_MONTH.search(text)
    if clock.now is None or _A_YEAR.search(text) or not is_dated:
        return []
    clocks = (
        replace(clock, now=clock.now - relativedelta(years=back))
        for back in range(1, MOST_YEARS + 1)
    )
    read = (parse_time_phrase(text, one) for one in clocks)
    return [one for one in read if one is not None]
