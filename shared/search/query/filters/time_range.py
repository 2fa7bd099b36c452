"""When entries were written: the request's interval, and how it was understood."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.errors import InvalidRequestError
from shared.times import date_expressions, rfc3339
from shared.times.calendar import Clock, Span
from shared.times.rfc3339 import read_time

FROM, TO, RANGE = "date_from", "date_to", "time_range"
# Both ends at once: a day, a month, `2024-06-01..2024-06-05`.
DATE = "date"
NAMES = frozenset({FROM, TO, RANGE, DATE})
# When an event happened, which may be long before it was written down.
EVENT_FROM, EVENT_TO = "event_from", "event_to"
# What each is called among the filters.
_ENDS = {
    FROM: "since",
    TO: "until",
    EVENT_FROM: "happened_since",
    EVENT_TO: "happened_until",
}
_TWO = 2
_FINEST = 0.001


@dataclass(frozen=True, slots=True)
class Applied:
    """An interval that every hit lies in, and the words that it was read from."""

    since: str | None
    until: str | None
    zone: str
    expression: str
    confidence: float = 1.0


def parse_time_range(
    path: str, name: str, value: object, clock: Clock
) -> dict[str, str]:
    """Parse a filter by time to fields of `Filters`; an end counts as inside."""
    if name == DATE:
        return _whole(path, value, clock)
    if name != RANGE:
        return _end(path, name, value, clock)
    if not isinstance(value, list) or len(value) != _TWO:
        message = "`time_range` takes two times: the first and the last."
        raise InvalidRequestError.field(path, "filter_value", message)
    found: dict[str, str] = {}
    for end, one in zip((FROM, TO), value, strict=True):
        if one is not None:
            found |= _end(path.removesuffix(RANGE) + end, end, one, clock)
    return found


def stamps(ends: Mapping[str, object], clock: Clock) -> dict[str, float] | None:
    """Return dates as seconds since 1970, ends inside; None: not all are dates."""
    found: dict[str, float] = {}
    for end, given in ends.items():
        span = parse_span(given, clock)
        moment = None
        if span is not None:
            moment = span.since if end == "gte" else span.until
        if moment is None:
            return None
        # An interval ends before its end, and engines count no finer.
        found[end] = moment.timestamp() - (_FINEST if end == "lte" else 0.0)
    return found


def written_ends(span: Span) -> tuple[str | None, str | None]:
    """Return the beginning and the end of an interval as filters keep them."""
    # No finer than the index counts, so that both engines draw the line at one place.
    since, until = (
        None if end is None else end.isoformat(timespec="milliseconds")
        for end in (span.since, span.until)
    )
    return since, until


def parse_span(given: object, clock: Clock) -> Span | None:
    """Return the interval that a text means as a date; None: it is no such text."""
    if not isinstance(given, str):
        return None
    return date_expressions.parse_date_expression(given, clock)


def _whole(path: str, value: object, clock: Clock) -> dict[str, str]:
    """Return both ends of the interval that a date such as `2024-06` means."""
    ends = zip(("since", "until"), written_ends(_span(path, value, clock)), strict=True)
    return {name: moment for name, moment in ends if moment}


def _end(path: str, name: str, value: object, clock: Clock) -> dict[str, str]:
    since, until = written_ends(_span(path, value, clock))
    moment = since if name in {FROM, EVENT_FROM} else until
    return {_ENDS[name]: moment} if moment else {}


def _span(path: str, value: object, clock: Clock) -> Span:
    """Return the interval that a time means; refuse a text that is none or too far."""
    if not isinstance(value, str):
        message = "A time is a text such as 2024-06-10 or 2024-06-10T04:12:00Z."
        raise InvalidRequestError.field(path, "filter_value", message)
    span = date_expressions.parse_date_expression(value, clock)
    if span is None:
        if date_expressions.is_far(value):
            raise rfc3339.out_of_range(path)
        # `read_time` raises with the reason where it cannot read a moment either.
        at, _ = read_time(value, path, zone=clock.zone)
        span = Span(at, at)
    return span
