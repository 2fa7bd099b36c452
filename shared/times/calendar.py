"""The facility's days, weeks and shifts as half-open intervals.

Every boundary is a wall time, and where one ends the next begins: a day on which clocks
change has 23 or 25 hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from shared.times.operating_periods import Period
from shared.times.rfc3339 import FIRST_YEAR, LAST_YEAR, place
from shared.times.shifts import NO_SHIFTS, Shift, ShiftPlan

_DAY = timedelta(days=1)
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class Span:
    """From a moment to before another, in UTC; None is without an end."""

    since: datetime | None
    until: datetime | None
    # Where clocks go back a wall time comes twice, so much later the second time.
    again: timedelta = timedelta()

    @property
    def each(self) -> tuple[Span, ...]:
        """Return both intervals of a wall time that comes twice; else only itself."""
        if not self.again or self.since is None or self.until is None:
            return (self,)
        first = Span(self.since, self.until - self.again)
        return first, Span(self.since + self.again, self.until)


@dataclass(frozen=True, slots=True)
class Clock:
    """What is now, and how the facility counts its days."""

    # None: `yesterday` cannot be read.
    now: datetime | None = None
    zone: str = "UTC"
    # A day is called by the date on which it begins.
    day_starts: time = time()
    shifts: ShiftPlan = NO_SHIFTS
    # Its runs and shutdowns.
    periods: tuple[Period, ...] = ()

    @property
    def today(self) -> date | None:
        """Return the date of the facility's day."""
        if self.now is None:
            return None
        wall = self.now.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        before = wall.time() < self.day_starts
        return wall.date() - _DAY if before else wall.date()

    def moment(self, wall: datetime, *, fold: int = 0) -> datetime:
        """Return a wall time of the facility in UTC."""
        at, _ = place(wall, ZoneInfo(self.zone), fold)
        return at.astimezone(UTC)

    def days(self, first: date, after: date) -> Span:
        """Return the days from one date to before another."""
        return Span(self._begins(first), self._begins(after))

    def day(self, one: date) -> Span:
        """Return one day."""
        return self.days(one, one + _DAY)

    def week(self, one: date) -> Span:
        """Return the week of a date, from Monday on."""
        monday = one - one.weekday() * _DAY
        return self.days(monday, monday + 7 * _DAY)

    def month(self, year: int, month: int) -> Span:
        """Return a month."""
        following = (year + month // _DECEMBER, month % _DECEMBER + 1)
        return self.days(date(year, month, 1), date(*following, 1))

    def year(self, year: int) -> Span:
        """Return a year."""
        return self.days(date(year, 1, 1), date(year + 1, 1, 1))

    def shift(self, shift: Shift, one: date) -> Span:
        """Return the shift that begins in the facility's day of a date."""
        turns = self.shifts.shifts
        following = turns[(turns.index(shift) + 1) % len(turns)]
        begins = one if shift.clock >= self.day_starts else one + _DAY
        ends = begins if following.clock > shift.clock else begins + _DAY
        since, until = (
            self.moment(datetime.combine(day, turn.clock))
            for day, turn in ((begins, shift), (ends, following))
        )
        return Span(since, until)

    def shifts_until_now(self, shift: Shift | None = None) -> Iterator[Span]:
        """Yield the shifts that have begun, the latest first; of one name, or all."""
        today = self.today
        if today is None or self.now is None:
            return
        chosen = self.shifts.shifts if shift is None else (shift,)
        spans = [
            self.shift(one, today - back * _DAY)
            for back in range(-1, 4)
            for one in chosen
        ]
        begun = [one for one in spans if one.since and one.since <= self.now]
        yield from sorted(begun, key=lambda one: str(one.since), reverse=True)

    def _begins(self, one: date) -> datetime:
        return self.moment(datetime.combine(one, self.day_starts))


def is_near(year: int) -> bool:
    """Tell whether dates of a year can be compared with those of entries."""
    return FIRST_YEAR <= year <= LAST_YEAR


# For a reader of dates that has no present time.
NO_CLOCK = Clock()
