"""The day of an entry and the number of a document, by which both sides are summed."""

import hashlib
from uuid import UUID

MILLISECONDS_A_DAY = 86_400_000
# The first 48 bits of a UUIDv7 are the time in milliseconds.
_TIME_SHIFT = 80
_LAST_ID = (1 << 128) - 1
_MASK = 0x7FFFFFFF


def day_of(entry_id: UUID) -> int:
    """Return the day on which an entry came in, counted from 1970.

    By the id alone: whatever an edit says, it stays.
    """
    return (entry_id.int >> _TIME_SHIFT) // MILLISECONDS_A_DAY


def check_of(entry_id: UUID, version: int) -> int:
    """Return 31 bits of id and version, the same as Postgres makes of them."""
    named = f"{entry_id}:{version}".encode()
    digest = hashlib.md5(named, usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & _MASK


def first_id(day: int) -> UUID:
    """Return the lowest id of a day."""
    return UUID(int=min(day * MILLISECONDS_A_DAY << _TIME_SHIFT, _LAST_ID))


def last_id(day: int) -> UUID:
    """Return the highest id of a day."""
    return UUID(int=min(((day + 1) * MILLISECONDS_A_DAY << _TIME_SHIFT) - 1, _LAST_ID))
