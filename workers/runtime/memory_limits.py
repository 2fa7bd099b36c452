"""What the memory of one process may grow to, so that a hog costs itself alone."""

import resource

_MEGABYTE = 1024 * 1024
# What it takes to say that there was no memory left.
_RESERVE_BYTES = 24 * _MEGABYTE


def bound(megabytes: int) -> None:
    """Limit the memory of this process; more raises MemoryError.

    Of its data, not of its addresses: threads and arenas reserve gigabytes of these
    that nothing is ever written to.
    """
    _set_limit(megabytes * _MEGABYTE - _RESERVE_BYTES)
    _bounded.append(megabytes * _MEGABYTE)


def open_reserve() -> None:
    """Give a child that is out of memory the reserve, so that it ends in order."""
    if _bounded:
        _set_limit(_bounded[0])


_bounded: list[int] = []


def _set_limit(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
