"""The words for a day and for a shift: `monday`, `12 June 2024`, `last night`."""

import re
from datetime import date, datetime, time, timedelta

from shared.times import written_forms
from shared.times.calendar import Clock, Span
from shared.times.shifts import Shift

_DAY, _SATURDAY = timedelta(days=1), 5
WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday"),
    *("friday", "saturday", "sunday"),
)
_BACK = {"today": 0, "yesterday": 1, "day before yesterday": 2, "tomorrow": -1}
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d\d?)\2(\d\d?)", re.ASCII)
_DIGITS = re.compile(r"\d{8}", re.ASCII)
_SHIFT = re.compile(r"\bshift\b")
_EITHER_NIGHT = "night of "
_NIGHTS = (_EITHER_NIGHT, "night before ", "night to ")
_BARE_NIGHT = " night"
_LED = re.compile(r"(?:on|of|(?P<eve>before|to)) (?:the )?")
# Without a plan of shifts: from one to the other on the day after.
_EVENING, _MORNING = time(18), time(6)


def day_of(text: str, clock: Clock) -> date | None:
    """Return the date that a text names, or None; raises ValueError for no such day."""
    written = _YEAR_FIRST.fullmatch(text)
    if written:
        return date(int(written[1]), int(written[3]), int(written[4]))
    today = clock.today
    if today is not None:
        if text in _BACK:
            return today - _BACK[text] * _DAY
        before, _, name = text.rpartition(" ")
        if name in WEEKDAYS and before in {"", "last", "on"}:
            back = (today.weekday() - WEEKDAYS.index(name)) % 7
            return today - (back or 7 * (before == "last")) * _DAY
    if any(c.isalpha() for c in text) and ":" not in text:
        return _written(text)
    return _written_with_points(text)


def month_of(name: str) -> int | None:
    """Return the number of a month by its English name, of three letters at least."""
    return written_forms.month(name) or None


def named_shift(text: str, clock: Clock) -> Span | None:
    """Return the shift that a text names: the latest, or that of a day."""
    words = " ".join(_SHIFT.sub(" ", text).split())
    if _SHIFT.search(text) and words in {"this", "current", "last", "previous"}:
        latest = list(clock.shifts_until_now())[:2]
        place = 0 if words in {"this", "current"} else 1
        return latest[place] if len(latest) > place else None
    if text.startswith(_NIGHTS):
        # It begins in the evening, whenever a shift of the night does.
        night = _night_of(words, clock)
        if night is None or night.since is None or not text.startswith(_EITHER_NIGHT):
            return night
        # People call a night by its evening and by its morning: it may be either.
        return Span(night.since - _DAY, night.until)
    if words.endswith(_BARE_NIGHT) and not _SHIFT.search(text):
        # Unless the facility calls a shift so, it begins in the evening of the day.
        evening = day_of(words.removesuffix(_BARE_NIGHT), clock)
        own = clock.shifts.names[: len(clock.shifts.shifts)]
        if evening and "night" not in dict(own):
            return _night_from(evening, clock)
    for name, shift in clock.shifts.names:
        rest = _without(words, name)
        if rest is not None:
            return _of_day(rest, shift, clock)
    if words in {"last night", "this night"}:
        return _night(clock, is_over=words == "last night")
    return _night_of(words, clock)


def is_bare_shift(text: str, clock: Clock) -> bool:
    """Tell whether a text is a shift's name alone, without saying which day's."""
    words = " ".join(_SHIFT.sub(" ", text).split())
    return any(words == name for name, _ in clock.shifts.names)


def weekend(clock: Clock, *, is_over: bool) -> Span | None:
    """Return the latest Saturday and Sunday that have begun, or are over."""
    today = clock.today
    if today is None:
        return None
    saturday = today - (today.weekday() - _SATURDAY) % 7 * _DAY
    if is_over and today < saturday + 2 * _DAY:
        saturday -= 7 * _DAY
    return clock.days(saturday, saturday + 2 * _DAY)


def _without(words: str, name: str) -> str | None:
    """Return the words before or after a shift's name; None: the name is missing."""
    if words == name:
        return ""
    if words.startswith(f"{name} "):
        return words[len(name) + 1 :]
    return words[: -len(name) - 1] if words.endswith(f" {name}") else None


def _of_day(rest: str, shift: Shift, clock: Clock) -> Span | None:
    over = rest in {"last", "previous", "last night"}
    if over or rest in {"", "this", "current"}:
        for span in clock.shifts_until_now(shift):
            if not over or (span.until and clock.now and span.until <= clock.now):
                return span
        return None
    one = _day_led(rest, clock)
    return clock.shift(shift, one) if one else None


def _day_led(rest: str, clock: Clock) -> date | None:
    """Return the day of `of 12 June`; of `before 12 June` the one before it."""
    led = _LED.match(rest)
    one = day_of(rest[led.end() :] if led else rest, clock)
    return one - _DAY if one and led and led["eve"] else one


def _night(clock: Clock, *, is_over: bool) -> Span | None:
    """Return the latest night that is over, or has begun."""
    today = clock.today
    if today is None or clock.now is None:
        return None
    for back in (0, 1, 2):
        evening = today - back * _DAY
        night = _night_from(evening, clock)
        ends = night.until if is_over else night.since
        if ends and ends <= clock.now:
            return night
    return None


def _night_of(words: str, clock: Clock) -> Span | None:
    """Return the night of a day: `night of 12 June`, or where no shifts are known."""
    if not words.startswith("night "):
        return None
    evening = _day_led(words.removeprefix("night "), clock)
    return _night_from(evening, clock) if evening else None


def _night_from(evening: date, clock: Clock) -> Span:
    since = clock.moment(datetime.combine(evening, _EVENING))
    return Span(since, clock.moment(datetime.combine(evening + _DAY, _MORNING)))


def _written(text: str) -> date | None:
    written = written_forms.find(text)
    # One with a time of day is no whole day.
    if written is None or written.hour or written.minute or _DIGITS.match(text):
        return None
    return date(written.year, written.month, written.day)


def _written_with_points(text: str) -> date | None:
    """Read `12.6.2024`; with strokes the month may be either."""
    if text.count(".") != 2:  # noqa: PLR2004 - day, month and year
        return None
    written = written_forms.find_numeric(text, day_first=True)
    return date(written.year, written.month, written.day) if written else None
