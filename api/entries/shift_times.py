"""The facility's shifts as people count by them: this one, the one before, days."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from shared.times.calendar import Clock, Span
from shared.times.rfc3339 import timestamp

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ShiftGroup:
    """The entries of one shift, or of one day where nobody has said what shifts are."""

    name: str
    since: datetime
    entries: list[Mapping[str, Any]]


def begin_of_shift(clock: Clock, *, before: int = 0) -> datetime | None:
    """Return when this shift began, or one so many before; a day without a plan."""
    spans = islice(_latest(clock), before, None)
    return next((one.since for one in spans), None)


def quick_spans(clock: Clock) -> dict[str, str]:
    """Return the beginnings of the times that people ask for, by what these are called.

    Shifts are named where the facility has a plan of them, and else days.
    """
    assert clock.now is not None
    has_plan = bool(clock.shifts.shifts)
    days = ("today", "since yesterday")
    this, last = ("this shift", "since previous shift") if has_plan else days
    begun = {"last 7 d": clock.now - _WEEK}
    for name, before in ((this, 0), (last, 1)):
        since = begin_of_shift(clock, before=before)
        if since is not None:
            begun[name] = since
    return {
        name: timestamp(since.replace(microsecond=0)) for name, since in begun.items()
    }


def group_by_shift(
    entries: Iterable[Mapping[str, Any]], clock: Clock
) -> list[ShiftGroup]:
    """Return entries, newest first, in the shifts that they were written in.

    What a source says of the shift counts more than the hour.
    """
    groups: list[ShiftGroup] = []
    for entry in entries:
        at = datetime.fromisoformat(entry["entry_time"])
        name = _name(entry, at, clock)
        if not groups or groups[-1].name != name:
            groups.append(ShiftGroup(name, at, []))
        groups[-1].entries.append(entry)
    return groups


def _name(entry: Mapping[str, Any], at: datetime, clock: Clock) -> str:
    day = replace(clock, now=at).today
    assert day is not None
    shift = entry.get("shift") or clock.shifts.at(at)
    told = f"{day:%A %d %B %Y}"
    return f"{told}, {shift} shift" if shift else told


def _latest(clock: Clock) -> Iterator[Span]:
    if clock.shifts.shifts:
        yield from clock.shifts_until_now()
        return
    today = clock.today
    assert today is not None
    for back in range(30):
        yield clock.day(today - timedelta(days=back))
