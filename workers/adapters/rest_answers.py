"""What stands in the answer of a REST list: its items, and how many there are."""

from __future__ import annotations

from typing import Any

from shared.entries.adapter import Reply
from shared.errors import IngestionError
from workers.adapters.pointer import Pointer
from workers.adapters.rest_settings import RestArgs

_SHOWN = 200
_MOST_DIGITS = 15


def items(args: RestArgs, document: Any, reply: Reply) -> list[Any]:
    """Return the list; null in its place is how some say that it is empty."""
    place = Pointer(args.items_pointer)
    found = document
    for token in place.tokens:
        if not isinstance(found, dict) or token not in found:
            raise unexpected(reply, f"there is nothing at {place.text!r}")
        found = found[token]
    if found is None and place.tokens:
        return []
    if not isinstance(found, list):
        raise unexpected(reply, f"{place.text!r} holds no list")
    return found


def total(args: RestArgs, document: Any) -> int | None:
    """Return how many the source says there are."""
    if args.total_pointer is None:
        return None
    found = Pointer(args.total_pointer).first(document)
    if isinstance(found, str) and found.isascii() and found.isdigit():
        found = int(found[:_MOST_DIGITS])
    is_count = isinstance(found, int) and not isinstance(found, bool)
    return found if is_count else None


def unexpected(reply: Reply, why: str) -> IngestionError:
    """Return the error of an answer in another shape."""
    shown = reply.body[:_SHOWN].decode("utf-8", "replace")
    return IngestionError(
        "The source answers in another shape than its settings say.",
        reason="unexpected_shape",
        technical=f"{why}: {shown!r}",
    )
