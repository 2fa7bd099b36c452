"""What the memory of one process may grow to, so that a hog costs itself alone."""

from __future__ import annotations

import resource

_MEGABYTE = 1024 * 1024


def bound(megabytes: int) -> None:
    """Let what asks for more get MemoryError; shared and read-only pages are free.

    Of its data, not of its addresses: threads and arenas reserve gigabytes of these
    that nothing is ever written to.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = megabytes * _MEGABYTE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
