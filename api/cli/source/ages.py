"""How long ago something of a source was, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_SECONDS_A = {"d": 86_400, "h": 3600, "min": 60, "s": 1}


def ago(seconds: float) -> str:
    """Return an age in the unit in which it is two at least; negative is to come."""
    amount = abs(seconds)
    unit = next((one for one, size in _SECONDS_A.items() if amount >= 2 * size), "s")
    told = f"{amount / _SECONDS_A[unit]:.0f} {unit}"
    return f"{told} ago" if seconds >= 0 else f"in {told}"


def when(time: datetime, zone: str | None) -> str:
    """Return a time as the logbook itself shows it, and its distance.

    By the one its user knows the entry, by the other a wrong zone shows itself.
    """
    distance = ago((datetime.now(UTC) - time).total_seconds())
    there = time.astimezone(ZoneInfo(zone) if zone else UTC)
    return f"{there:%Y-%m-%d %H:%M %Z} ({distance})"
