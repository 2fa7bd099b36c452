"""What a caller may see of entries, as a condition: it stands in no other file.

A statement names the tenant itself, and says itself if deleted entries count.
"""

from __future__ import annotations

from typing import LiteralString


def seen(entry: LiteralString) -> LiteralString:
    """Return what follows a WHERE that keeps to what the caller may see."""
    return "\n       AND " + _condition(entry)


def unseen(entry: LiteralString) -> LiteralString:
    """Return what follows a WHERE that keeps to all the rest; null is no right."""
    return "\n       AND (" + _condition(entry) + ") IS NOT TRUE"


def as_open(other: LiteralString, entry: LiteralString) -> LiteralString:
    """Return what holds where whoever may see an entry may see the other one, too.

    It follows a WHERE; where the two say so in ways that differ, it may not hold.
    """
    return (
        "\n       AND "
        + entry
        + ".logbooks <@ "
        + other
        + ".logbooks\n       AND ("
        + other
        + ".readers IS NULL OR "
        + entry
        + ".readers <@ "
        + other
        + ".readers)\n       AND ("
        + other
        + ".visible_from IS NULL OR "
        + other
        + ".visible_from <= now()\n            OR "
        + other
        + ".visible_from <= "
        + entry
        + ".visible_from)"
    )


def _condition(entry: LiteralString) -> LiteralString:
    return (
        "(%(logbooks)s::text[] IS NULL OR "
        + entry
        + ".logbooks && %(logbooks)s)\n       AND ("
        + entry
        + ".readers IS NULL OR "
        + entry
        + ".readers && %(principals)s::text[])\n       AND ("
        + entry
        + ".visible_from IS NULL OR "
        + entry
        + ".visible_from <= now())"
    )


# Of an entry `e`, as nearly every statement calls it.
SEEN: LiteralString = seen("e")
