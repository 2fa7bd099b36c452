"""What the memory of one process may grow to, so that a hog costs itself alone."""

from __future__ import annotations

import resource

_MEGABYTE = 1024 * 1024
# What it takes to say that there was no memory left.
_RESERVE_BYTES = 24 * _MEGABYTE


def bound(megabytes: int) -> None:
    """Let what asks for more get MemoryError; shared and read-only pages are free.

    Of its data, not of its addresses: threads and arenas reserve gigabytes of these
    that nothing is ever written to.
    """
    _set_limit(megabytes * _MEGABYTE - _RESERVE_BYTES)
    _bounded.append(megabytes * _MEGABYTE)


def open_reserve() -> None:
    """Let a child that has run out of its memory have the rest, to end in order."""
    if _bounded:
        _set_limit(_bounded[0])


_bounded: list[int] = []


def _set_limit(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
