"""How a facility counts its days, as settings and its file say it."""

from datetime import time

from shared.settings.settings import Settings
from shared.text.facility.facility import Facility
from shared.times.calendar import Clock


def make_calendar(settings: Settings, facility: Facility) -> Clock:
    """Return the facility's zone, days, shifts and periods as a clock without `now`."""
    return Clock(
        zone=settings.facility_timezone,
        day_starts=time.fromisoformat(settings.day_starts),
        shifts=facility.shifts,
        periods=facility.calendar,
    )
