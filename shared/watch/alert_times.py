"""When an alert is to be sent: at once, with a digest, and never in quiet hours."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from shared.times.calendar import Clock
    from shared.watch.saved_searches import AlertRule

_DAY = timedelta(days=1)


def find_due_time(rule: AlertRule, clock: Clock) -> datetime | None:
    """Return when an alert of now is due; None: it is sent nowhere."""
    if rule.webhook_url is None:
        return None
    due = clock.now
    assert due is not None
    if rule.digest == "shift" and clock.shifts.shifts:
        due = next(clock.shifts_until_now()).until or due
    elif rule.digest != "none":
        # Where nobody has said what shifts are, a shift is a day.
        today = clock.today
        assert today is not None
        due = clock.day(today).until or due
    return due if rule.quiet_hours is None else _after_quiet(due, rule, clock)


def _after_quiet(due: datetime, rule: AlertRule, clock: Clock) -> datetime:
    """Return the end of the quiet hours that a moment falls into, or the moment."""
    assert rule.quiet_hours is not None
    begins, ends = (time.fromisoformat(one) for one in rule.quiet_hours)
    wall = due.astimezone(ZoneInfo(clock.zone)).replace(tzinfo=None)
    for day in (wall.date() - _DAY, wall.date()):
        until = day if begins < ends else day + _DAY
        if datetime.combine(day, begins) <= wall < datetime.combine(until, ends):
            return clock.moment(datetime.combine(until, ends))
    return due
