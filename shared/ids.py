"""UUIDv7 made here, so that an id is known before its row is written; UUIDs read."""

import secrets
import time
import uuid


def uuid7(milliseconds: int | None = None) -> uuid.UUID:
    """Return a UUID whose first 48 bits are the time in milliseconds."""
    now = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    value = (now & (1 << 48) - 1) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0b11 << 62) | 0b10 << 62
    return uuid.UUID(int=value)


def parse_uuid(text: str) -> uuid.UUID | None:
    """Return the UUID that a text is, however it is written; None: it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def earliest(milliseconds: int) -> uuid.UUID:
    """Return the lowest UUID that can be made from this millisecond on."""
    return uuid.UUID(int=(milliseconds & (1 << 48) - 1) << 80)
