"""What strangers wrote and when, as a terminal shows it; and how wide that is."""

import shutil
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

from shared.times.rfc3339 import on_clock

# No wider than is easy to read, no narrower than has room for anything.
MOST_COLUMNS, LEAST_COLUMNS = 88, 30


def plain(text: object) -> str:
    """Return a text on one line, without characters that could move the cursor."""
    return "".join(char if char.isprintable() else " " for char in str(text))


def plain_lines(text: str) -> str:
    """Return a text line by line, without characters that could move the cursor."""
    return "\n".join(plain(line).rstrip() for line in text.splitlines())


def columns() -> int:
    """Return the width of the terminal; a pipe to a program has no limit."""
    if not sys.stdout.isatty():
        return sys.maxsize
    return max(LEAST_COLUMNS, shutil.get_terminal_size().columns)


def fact_width() -> int:
    """Return the width of facts; for a program, each stays on one line."""
    width = columns()
    return width if width == sys.maxsize else min(MOST_COLUMNS, width)


def text_width() -> int:
    """Return how wide prose is, be it for a terminal or for a file."""
    return min(MOST_COLUMNS, columns())


def local(text: str, zone: ZoneInfo) -> str:
    """Return a time of the API as the facility's clocks show it, UTC beside it."""
    return on_clock(datetime.fromisoformat(text), zone)


def facility_zone() -> ZoneInfo:
    """Return the zone of the facility's clocks."""
    import os

    from shared.settings.settings import Settings

    return ZoneInfo(Settings.load(os.environ).facility_timezone)
