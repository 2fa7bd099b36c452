"""What a long text costs: in proportion to its length, on whatever machine."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

Text = TypeVar("Text", str, bytes, tuple[Any, ...])

# Less is not measured well, and what grows with the square of a long text takes more.
_QUICK_SECONDS = 0.1
# The half costs a half, or a quarter where the cost grows with the square.
_BETWEEN = 3
_TRIES = 5


def assert_linear(
    read: Callable[[Text], object], whole: Text, half: Text | None = None
) -> None:
    """Fail where a text costs out of proportion to its half; the best of some tries.

    A machine that does other things meanwhile is as slow with either of them.
    """
    part = whole[: len(whole) // 2] if half is None else half
    costs = []
    for _ in range(_TRIES):
        cost = _seconds(read, whole)
        if cost < _QUICK_SECONDS:
            return
        of_half = _seconds(read, part)
        if cost < _BETWEEN * of_half:
            return
        costs.append((round(of_half, 3), round(cost, 3)))
    message = f"{whole[:20]!r}...: the half and the whole took {costs} s"
    raise AssertionError(message)


def _seconds(read: Callable[[Text], object], text: Text) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began
