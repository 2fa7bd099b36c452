"""In which zone an Olog reads the times of a question.

Only servers of the end of 2025 and later heed `tz`; all before read a time in the zone
that their own machine is set to, and say nowhere which. A log whose instant is known
tells: it is asked for by times until it is found.
"""

from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from shared.adapter_contract.contract import Memory
from workers.adapters.olog import log_entry

Ask = Callable[[list[tuple[str, str]]], list[Any]]

_KEY = "zone"
_HOUR: Final = 3_600_000
_STEP: Final = _HOUR // 4
# Offsets are so many steps: from twelve hours behind UTC to fourteen ahead.
_OFFSETS = range(-48, 57)
# No server stands on this atoll: one that finds a log by its wall time heeds `tz`.
_ATOLL, _ATOLL_OFFSET = "Pacific/Kiritimati", 14 * _HOUR
# Without an end the server says now, and an entry dated ahead would stay hidden.
FOR_EVER = "2200-01-01 00:00:00.000"


@dataclass(frozen=True, slots=True)
class ServerZone:
    """The offset between our times and those the server asks for, and its error."""

    offset_ms: int = 0
    slack_ms: int = 0

    @classmethod
    def read(cls, kept: Any) -> Self | None:
        """Read an offset from a cursor; None if there is none."""
        match kept:
            case [int(offset_ms), int(slack_ms)]:
                return cls(offset_ms, slack_ms)
        return None

    def lower(self, ms: int) -> str:
        """Return the time to ask from, so that nothing after the instant is missed."""
        return _stamp(ms + self.offset_ms - self.slack_ms)

    def upper(self, ms: int) -> str:
        """Return the time to ask up to; the server cuts off what is below a second."""
        return _stamp(ms + self.offset_ms + self.slack_ms + 999)


HEEDS_TZ = ServerZone()
_UNKNOWN = ServerZone(_HOUR, 13 * _HOUR)


def learn(ask: Ask, memory: Memory, now: datetime) -> ServerZone:
    """Return how the server reads times, which is asked once a day."""
    kept = memory.get(_KEY)
    today = now.date().isoformat()
    if isinstance(kept, Mapping) and kept.get("day") == today:
        return _zone(kept.get("offset_ms"))
    known = _newest(ask)
    if known is None:
        return _UNKNOWN
    offset_ms = None if _heeds_tz(ask, known) else _offset_of(ask, known)
    memory.put(_KEY, {"day": today, "offset_ms": offset_ms})
    return _zone(offset_ms)


def _zone(offset_ms: Any) -> ServerZone:
    # Clocks go forward and back: by an hour it may be another at another time.
    return HEEDS_TZ if offset_ms is None else ServerZone(int(offset_ms), _HOUR)


def _newest(ask: Ask) -> int | None:
    logs = ask([("size", "1"), ("sort", "down")])
    return log_entry.created_ms(logs[0]) if logs else None


def _heeds_tz(ask: Ask, known: int) -> bool:
    wall = ServerZone(_ATOLL_OFFSET)
    params = [("start", wall.lower(known)), ("end", wall.upper(known)), ("tz", _ATOLL)]
    return bool(ask([("size", "1"), ("sort", "up"), *params]))


def _offset_of(ask: Ask, known: int) -> int:
    """Return the largest offset by which the log is not yet before the start."""

    def is_before(steps: int) -> bool:
        start = ServerZone(steps * _STEP).lower(known)
        params = [("start", start), ("end", FOR_EVER)]
        logs = ask([("size", "1"), ("sort", "up"), *params])
        first = log_entry.created_ms(logs[0]) if logs else None
        return first is None or first > known

    found = bisect(_OFFSETS, x=False, key=is_before)
    return _OFFSETS[max(0, found - 1)] * _STEP


def _stamp(ms: int) -> str:
    return f"{log_entry.moment(ms):%Y-%m-%d %H:%M:%S}.000"
