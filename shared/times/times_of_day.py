"""The times of day that a sentence names, as the moments that they were.

A wrong time is worse than none: of another day, a plan or a duration none is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from shared.times import date_tokens, event_time, written_forms
from shared.times.rfc3339 import place

# A clock runs a little ahead of the one that an entry is stamped by.
AHEAD = timedelta(minutes=5)
_DAY = timedelta(days=1)
# `0510 RF tripped`, `at 0510`; 2024 may be a year.
_FOUR = re.compile(
    r"(?:(?<=\A)|(?<=\bat )|(?<=\bum )|(?<=\n))(?!20[0-5]\d)"
    r"(?P<digits>(?:[01]\d|2[0-3])[0-5]\d)(?=h\b|[ \t]?(?:hrs?|uhr)\b|[ :,.;)]|\Z)",
    re.IGNORECASE,
)
# `\u00c0 2h40`, `vers 14 h`, or at the head of a line `2h40 : perte`. By itself
# `2 h 40` is how long something took; nobody who writes so means p.m.
_HOURS = re.compile(
    r"(?:\b(?:\u00e0|vers|d\u00e8s|alle|ore|las|um|at)[ \u00a0]"
    r"(?P<hour>[01]?\d|2[0-3])[ \u00a0]?h(?:[ \u00a0]?(?P<minute>[0-5]\d))?"
    r"|(?:\A|(?<=\n))(?P<first>[01]?\d|2[0-3])h(?P<then>[0-5]\d)(?=[ \u00a0]?[:,;-]))"
    r"(?![\w:/]|[.,-]\d)",
    re.IGNORECASE,
)
# A word that German has for another place.
_YESTERDAY = re.compile(r"\bhier\b", re.IGNORECASE)
# Without this there is none; it is looked for ten times as fast as they are.
_DIGITS = re.compile(r"\d:\d|\d{4}|\d[ \u00a0]?h", re.IGNORECASE)
_LASTED = re.compile(
    r"\b(?:for|took|takes|lasted|within|every|dauerte|für|alle|innerhalb)"
    r"(?: \w{1,10}\.?)?[ ~]{1,2}\Z",
    re.IGNORECASE,
)
_REACH = 24
_ZONE_BEHIND = re.compile(r" ?\(?(?P<zone>UTC|GMT|[A-Z]{1,3}[DS]?T)\b")
# These words tell of what is to come, in their own clause and in no other.
_PLANS = frozenset(
    (
        *("will", "should", "until", "till", "meeting", "next", "tonight", "tomorrow"),
        *("wird", "werden", "soll", "sollte", "bis", "besprechung"),
        *("sera", "seront", "doit", "jusqu", "prévu", "prévue", "réunion"),
        *("sarà", "deve", "fino", "previsto", "prevista", "riunione"),
        *("será", "debe", "hasta", "reunión"),
    )
)


class Clock(NamedTuple):
    """A time of day, where it stands in its sentence, and the moment in UTC."""

    at: datetime
    start: int
    end: int

    def moved(self, by: int) -> Clock:
        """Return the time, placed in the text that its sentence stands in."""
        return Clock(self.at, self.start + by, self.end + by)


def find_times_of_day(sentence: str, written: datetime, zone: str) -> list[Clock]:
    """Return the times of the hours before a sentence was written, as they stand."""
    if not _DIGITS.search(sentence):
        return []
    terms = sorted(_terms(sentence), key=lambda one: one[1])
    # Most sentences name none: only then is it worth knowing of which day they are.
    if not terms or event_time.is_of_another_day(sentence, but=_PLANS):
        return []
    found = []
    for term, start, end in terms:
        if _LASTED.search(sentence[max(start - _REACH, 0) : start]):
            continue
        behind = _ZONE_BEHIND.match(sentence, end)
        at = _moment(term, written, zone, behind["zone"] if behind else None)
        if at is not None:
            found.append(Clock(at, start, behind.end() if behind else end))
    return found


def is_planned(clause: str) -> bool:
    """Tell whether a clause tells of what is to come."""
    return not set(re.findall(r"[^\W\d_]+", clause.lower())).isdisjoint(_PLANS)


def _terms(sentence: str) -> Iterator[tuple[str, int, int]]:
    for one in event_time.CLOCK.finditer(sentence):
        term = event_time.term_of(one)
        if term is not None:
            yield term, *one.span()
    for one in _FOUR.finditer(sentence):
        colon = date_tokens.insert_colon(one["digits"])
        if colon is not None:
            yield colon, *one.span()
    for one in () if _YESTERDAY.search(sentence) else _HOURS.finditer(sentence):
        hour, minute = one["hour"] or one["first"], one["minute"] or one["then"] or "00"
        yield f"{int(hour):02}:{minute}", *one.span()


def _moment(
    term: str, written: datetime, zone: str, own_zone: str | None
) -> datetime | None:
    """Return the last time that clocks showed this; None: that is not sure."""
    known = written_forms.zone_of(own_zone) if own_zone else ZoneInfo(zone)
    if known is None:
        return None
    today = (written + AHEAD).astimezone(known).date()
    clock = time.fromisoformat(term)
    for day in (today, today - _DAY):
        wall = datetime.combine(day, clock)
        ways = {place(wall, known, fold)[0].astimezone(UTC) for fold in (0, 1)}
        _, odd = place(wall, known)
        # A clock shows the time twice, and one of the two may still be to come.
        past = [at for at in ways if at <= written + AHEAD]
        if past:
            is_sure = len(past) == 1 and "time_nonexistent" not in odd
            return (
                past[0] if is_sure and written - past[0] <= event_time.LATEST else None
            )
    return None
