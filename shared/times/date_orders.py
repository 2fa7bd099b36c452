"""Whether the day or the month comes first in dates of three numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from shared.times import written_forms
from shared.times.written_forms import Numeric

_MONTHS = 12
# What may follow the date, in the codes of strptime; the first that fits is meant.
_CLOCKS = (
    *("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"),
    *(", %H:%M", ", %H:%M:%S", "T%H:%M", "T%H:%M:%S"),
)


@dataclass(frozen=True, slots=True)
class UnsureOrder:
    """A date that can be read in two ways, and what the others say of it."""

    text: str
    month_first: date
    day_first: date
    # One that can only be read with the day first; None: none tells which comes first.
    contrary: str | None

    def describe(self) -> str:
        """Return both readings in a sentence."""
        told = (
            f"while {self.contrary!r} has the day first"
            if self.contrary
            else "and no date that was read tells which"
        )
        return (
            f"{self.text!r} may be {self.month_first} or {self.day_first}, {told}."
            f" It is taken for {self.month_first}, month first."
        )

    def patterns(self) -> tuple[str, str] | None:
        """Return its form, day first and month first; None: strptime knows none."""
        mark = self.text.lstrip("0123456789")[0]
        for clock in _CLOCKS:
            both = (f"%d{mark}%m{mark}%Y{clock}", f"%m{mark}%d{mark}%Y{clock}")
            if all(_fits(self.text, one) for one in both):
                return both
        return None


def find_unsure_order(times: Iterable[str]) -> UnsureOrder | None:
    """Return a date that may have the day or the month first, unless others tell it.

    One date whose second number is no month says that the month comes first in all.
    """
    unsure: tuple[str, Numeric] | None = None
    contrary: str | None = None
    for text in times:
        found = written_forms.find_order(text)
        if found is None or not (found.first and found.other):
            continue
        if found.other > _MONTHS:
            return None
        if found.first > _MONTHS:
            contrary = contrary or text
        elif found.first != found.other and unsure is None:
            unsure = text, found
    if unsure is None:
        return None
    text, found = unsure
    return UnsureOrder(
        text,
        date(found.year, found.first, found.other),
        date(found.year, found.other, found.first),
        contrary,
    )


def _fits(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text, pattern)  # noqa: DTZ007 - only its form is asked for
    except ValueError:
        return False
    return True
