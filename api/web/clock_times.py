"""Times as the facility's clocks show them, UTC beside them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from shared.settings.settings import Settings
from shared.times.rfc3339 import on_clock

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class ClockTimes:
    """Writes times for people at the facility."""

    zone: ZoneInfo

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the clock of a facility."""
        return cls(ZoneInfo(settings.facility_timezone))

    def full(self, moment: str | datetime | None) -> str:
        """Return date and time with their zone, UTC beside them."""
        return on_clock(read_moment(moment), self.zone) if moment else "unknown"

    def short(self, moment: str | datetime) -> str:
        """Return date and time alone."""
        return f"{read_moment(moment).astimezone(self.zone):%d %b %Y %H:%M}"

    def clock(self, moment: str | datetime) -> str:
        """Return the time of day alone."""
        return f"{read_moment(moment).astimezone(self.zone):%H:%M}"

    def day(self, moment: str | datetime) -> str:
        """Return the day of the week and the date."""
        return f"{read_moment(moment).astimezone(self.zone):%a %d %b %Y}"

    def date(self, moment: str | datetime) -> str:
        """Return a date as a filter takes it."""
        return f"{read_moment(moment).astimezone(self.zone):%Y-%m-%d}"

    def machine(self, moment: str | datetime) -> str:
        """Return a time as programs read it."""
        return read_moment(moment).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def ago(self, moment: str | datetime) -> str:
        """Return how long ago a moment was, in words."""
        return f"{self.span(datetime.now(UTC) - read_moment(moment))} ago"

    def later(self, earlier: str | datetime, moment: str | datetime) -> str:
        """Return how long after one moment another came, in words."""
        return self.span((read_moment(moment) - read_moment(earlier)).total_seconds())

    @staticmethod
    def is_before(moment: str | datetime, other: str | datetime) -> bool:
        """Tell whether one moment came before another."""
        return read_moment(moment) < read_moment(other)

    @staticmethod
    def span(seconds: float | timedelta) -> str:
        """Return a duration in words."""
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        seconds = abs(seconds)
        for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
            if seconds >= unit:
                return f"{seconds / unit:.0f} {name}"
        return f"{seconds:.0f} s"


def read_moment(moment: str | datetime) -> datetime:
    """Return a time that may be written down."""
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment
