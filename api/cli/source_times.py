"""How long ago something of a source was, in words."""

from __future__ import annotations

from datetime import UTC, datetime

_SECONDS_A = {"d": 86_400, "h": 3600, "min": 60, "s": 1}


def ago(seconds: float) -> str:
    """Return it in the unit in which it is at least two; negative is still to come."""
    amount = abs(seconds)
    unit = next(
        (one for one, size in _SECONDS_A.items() if amount >= 2 * size),
        "s",
    )
    told = f"{amount / _SECONDS_A[unit]:.0f} {unit}"
    return f"{told} ago" if seconds >= 0 else f"in {told}"


def when(time: datetime) -> str:
    """Return a time of an entry and its distance: by that a wrong zone shows itself."""
    distance = ago((datetime.now(UTC) - time).total_seconds())
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC ({distance})"
