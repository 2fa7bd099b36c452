"""A wrong wall clock for one process, set before anything imports `time` or `datetime`.

What measures time, `time.monotonic`, stays right, as on a machine whose clock is set.
"""

import datetime as dt
import math
import signal
import sys
import time
from typing import Any, Self

_real_time, _real_time_ns = time.time, time.time_ns
_Real = dt.datetime


class _LikeReal(type(_Real)):
    """Whatever C code makes is a datetime too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Real)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _Real)


class _Offset:
    """How wrong the clock is just now."""

    shift_seconds: float = 0
    from_monotonic: float = 0

    @classmethod
    def now(cls) -> float:
        return cls.shift_seconds if time.monotonic() >= cls.from_monotonic else 0.0


class _Datetime(_Real, metaclass=_LikeReal):
    """The real one, but for what time it says it is."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return _Real.fromtimestamp(shifted_time(), tz)

    @classmethod
    def today(cls) -> Any:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(dt.UTC).replace(tzinfo=None)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return _Real(*args, **kwargs)  # type: ignore[return-value]


def shifted_time() -> float:
    """Return the seconds of the wrong clock."""
    return _real_time() + _Offset.now()


def shifted_time_ns() -> int:
    """Return the nanoseconds of the wrong clock."""
    return _real_time_ns() + int(_Offset.now() * 1_000_000_000)


def _jump(*_: object) -> None:
    _Offset.from_monotonic = time.monotonic()


def shift(
    *, shift_seconds: float, after_seconds: float = 0, at_signal: bool = False
) -> None:
    """Make the clock of this process wrong, at once or by a jump later on.

    With `at_signal` it jumps when this process gets SIGUSR2.
    """
    _Offset.shift_seconds = shift_seconds
    _Offset.from_monotonic = time.monotonic() + after_seconds
    if at_signal:
        _Offset.from_monotonic = math.inf
        signal.signal(signal.SIGUSR2, _jump)
    if "shared" in sys.modules or "celery" in sys.modules:
        message = "The clock must be shifted before what reads it is imported."
        raise RuntimeError(message)
    time.time, time.time_ns = shifted_time, shifted_time_ns
    dt.datetime = _Datetime
