"""When a text says that it happened: a shift by its name, or one time of day.

A wrong time is worse than none. Where a text names two shifts or two times, or speaks
of another day, of a plan or of how long something took, nothing is read.
"""

import functools
import re
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from shared.times import date_tokens
from shared.times.rfc3339 import place
from shared.times.shifts import ShiftPlan

# What is written later than that of a time of day is as likely of another day.
LATEST = timedelta(hours=12)
# What is said far behind is seldom what an entry is about, and costs as much to read.
MAX_CHARS = 20_000
_DAY = timedelta(days=1)
_MIN_NAME = 3
# One time is written in no more ways than these.
_MOST_WAYS = 4
_SHIFT = re.compile("shift|schicht", re.IGNORECASE)

CLOCK = re.compile(
    r"(?<![\w:.,/+-])(?P<hour>[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?"
    r"(?P<half> ?[ap]m\b| ?(?:hrs?|h|uhr)\b)?(?![\w:/+]|[.,-]\d|-\w)",
    re.IGNORECASE,
)
# Where it stands so, it is when something happened.
_AT = re.compile(
    r"(?:^|\n|\b(?:at|um|gegen|around|about|ca\.?)[ ~]|[@~])[ \t]{0,3}\Z", re.IGNORECASE
)
_REACH = 12
_ZONE_BEHIND = re.compile(r" ?(?:UTC|GMT|[A-Z]{1,3}[DS]?T)\b")
# These words tell of another day, of a plan, or of how long something took.
_DOUBT = frozenset(
    (
        *("yesterday", "tomorrow", "tonight", "will", "should", "meeting", "until"),
        *("till", "last", "next", "ago", "gestern", "vorgestern", "morgen", "wird"),
        *("werden", "soll", "sollte", "bis", "mittwoch", "mittwochs", "besprechung"),
        *("mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr"),
        *("jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "may", "mai"),
        *("demain", "ieri", "domani", "ayer", "anoche", "ma\u00f1ana"),
    )
)
_DOUBT_BEGINS = (
    *("schedul", "plan", "geplant", "letzte", "n\u00e4chste", "januar", "februar"),
    *("march", "m\u00e4rz", "april", "june", "juni", "july", "juli", "august", "sept"),
    *("octob", "oktob", "novemb", "decemb", "dezemb"),
)
_DOUBT_ENDS = ("day", "days", "tag", "tags")
_TODAY = frozenset({"today", "day"})
_DATE = re.compile(r"\d[-./]\d{1,2}[-./]\d")
_WORDS = re.compile(r"[^\W\d_]+")
# `owl shift: RF tripped`, `during the owl shift`; not `handover to the owl shift`.
_IN = re.compile(
    r"(?:^|\n|[.:;!?][ \t]|\b(?:on|during|in|w\u00e4hrend)[ ](?:the[ ]|der[ ])?)"
    r"[ \t#*=\[(-]{0,8}\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"[ ,]{0,2}(?:please|will|should|must|needs?|to|can|could|starts?|begins?|bitte"
    r"|wird|soll\w{0,3}|muss)\b",
    re.IGNORECASE,
)


class ReadValue(NamedTuple):
    """What is read in a text, and where: a shift's name, or a moment."""

    value: str
    start: int
    end: int


def shift(text: str, plan: ShiftPlan) -> ReadValue | None:
    """Return the one shift that a text is of by its own words, or None."""
    pattern, names = _names(plan)
    text = text[:MAX_CHARS]
    # Most texts have no such word, and looking for all the names takes a while.
    found = [*pattern.finditer(text)] if pattern and _SHIFT.search(text) else []
    if len({names[one["name"].lower()] for one in found}) != 1:
        return None
    for one in found:
        before = text[max(one.start() - 2 * _REACH, 0) : one.start()]
        if _IN.search(before) and not _ASKED.match(text, one.end()):
            return ReadValue(names[one["name"].lower()], *one.span())
    return None


def moment(text: str, written: datetime, zone: str) -> ReadValue | None:
    """Return when something happened, of the hours before it was written, or None.

    The value is a time in UTC; where clocks change there is none that is sure.
    """
    text = text[:MAX_CHARS]
    clocks = [*CLOCK.finditer(text)]
    ways = {one[0]: one for one in clocks}
    if not 0 < len(ways) <= _MOST_WAYS:
        return None
    if len({term_of(one) for one in ways.values()}) > 1 or is_of_another_day(text):
        return None
    for one in clocks:
        if not _AT.search(text[max(one.start() - _REACH, 0) : one.start()]):
            continue
        term = term_of(one)
        if term is None or _ZONE_BEHIND.match(text, one.end()):
            return None
        at = latest(term, written, zone)
        said = at.isoformat(timespec="seconds") if at else None
        return ReadValue(said, *one.span()) if said else None
    return None


def is_of_another_day(text: str, but: frozenset[str] = frozenset()) -> bool:
    """Tell whether words suggest another day; the words in `but` do not count."""
    words = set(_WORDS.findall(text.lower())) - but
    return (
        not words.isdisjoint(_DOUBT)
        or any(one.startswith(_DOUBT_BEGINS) for one in words)
        or any(one.endswith(_DOUBT_ENDS) for one in words - _TODAY)
        or _DATE.search(text) is not None
    )


def latest(term: str, written: datetime, zone: str) -> datetime | None:
    """Return the last time that clocks showed this, if that was not long ago."""
    there = ZoneInfo(zone)
    today = written.astimezone(there).date()
    clock = time.fromisoformat(term)
    for day in (today, today - _DAY):
        at, odd = place(datetime.combine(day, clock), there)
        if at <= written:
            return None if odd or written - at > LATEST else at.astimezone(UTC)
    return None


def term_of(found: re.Match[str]) -> str | None:
    """Return a time of day as `03:12`; None: maybe p.m., or shown by no clock."""
    if len(found["hour"]) == 1 and not found["half"]:
        return None
    read = date_tokens.parse_date_token(found[0].replace(" ", ""))
    return read[0].term if read else None


@functools.lru_cache(maxsize=64)
def _names(plan: ShiftPlan) -> tuple[re.Pattern[str] | None, dict[str, str]]:
    """Return a pattern for the shifts of a plan, and the shift of each name."""
    names = {
        name: one.name
        for name, one in reversed(plan.names)
        # `a shift` is any.
        if len(name) >= _MIN_NAME
    }
    if not names:
        return None, {}
    names.setdefault("nacht", names["night"])
    some = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = rf"(?<![\w-])(?P<name>{some})(?:[ \u00a0-]?shift|[ -]?schicht)(?![\w-])"
    return re.compile(found, re.IGNORECASE), names
