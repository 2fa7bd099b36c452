"""The facility's shifts: which one a moment falls into, on the wall clock there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cached_property
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
# What people call the shift in the middle of the night, whatever its name.
_NIGHT_NAMES = ("night", "owl", "graveyard")
_NIGHT = time(3)


class Shift(BaseModel):
    """A shift: its name, and when it begins on the facility's clock."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=40)
    begins: str = Field(pattern=f"^{_CLOCK.pattern}$")

    @property
    def clock(self) -> time:
        """When it begins."""
        hour, minute = self.begins.split(":")
        return time(int(hour), int(minute))


@dataclass(frozen=True)
class ShiftPlan:
    """Shifts in turn: each ends where the next one begins, across midnight too."""

    shifts: tuple[Shift, ...] = ()
    zone: str = "UTC"

    def at(self, moment: datetime) -> str | None:
        """Return the shift of a moment, or None without a plan.

        A moment has one wall time only, in the night when clocks are set back too.
        """
        if not self.shifts:
            return None
        wall = moment.astimezone(UTC).astimezone(ZoneInfo(self.zone)).time()
        begun = [shift for shift in self.shifts if shift.clock <= wall]
        # Before the day's first one the last of the day before goes on.
        return (begun or self.shifts)[-1].name

    @cached_property
    def names(self) -> list[tuple[str, Shift]]:
        """Return each name with its shift; the plan's own names come first."""
        named = [(_bare(one.name), one) for one in self.shifts]
        if self.shifts:
            begun = [one for one in self.shifts if one.clock <= _NIGHT]
            night = (begun or self.shifts)[-1]
            named += [(name, night) for name in _NIGHT_NAMES]
        return named


NO_SHIFTS = ShiftPlan()


def plan(shifts: Sequence[Shift], zone: str) -> ShiftPlan:
    """Return the plan, its shifts in the order of the day; two cannot begin at once."""
    ordered = tuple(sorted(shifts, key=lambda shift: shift.clock))
    if len({shift.clock for shift in ordered}) < len(ordered):
        raise ValueError("two shifts begin at the same time")
    return ShiftPlan(ordered, zone)


def _bare(name: str) -> str:
    """Return a shift's name as it stands beside `shift`: `Owl shift` is `owl`."""
    plain = " ".join(name.lower().split())
    for ending in ("shift", "schicht"):
        plain = plain.removesuffix(ending).strip() or plain
    return plain
