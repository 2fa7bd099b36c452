"""What strangers wrote and when, as a terminal shows it."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from shared.text.times import on_clock


def plain(text: object) -> str:
    """Return it on one line: what a stranger wrote must not move the cursor."""
    return "".join(char if char.isprintable() else " " for char in str(text))


def plain_lines(text: str) -> str:
    """Return it line by line, each as harmless."""
    return "\n".join(plain(line).rstrip() for line in text.splitlines())


def local(text: str, zone: ZoneInfo) -> str:
    """Return a time of the API as the facility's clocks show it, UTC beside it."""
    return on_clock(datetime.fromisoformat(text), zone)


def facility_zone() -> ZoneInfo:
    """Return the zone of the facility's clocks."""
    import os

    from shared.settings import Settings

    return ZoneInfo(Settings.load(os.environ).facility_timezone)
