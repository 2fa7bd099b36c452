"""What stands in the answer of a REST list: items, their times, their number."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from shared.adapter_contract.contract import Reply, Source
from shared.errors import IngestionError, MalformedEntryError
from workers.adapters.mapping.map_settings import Times, canonical, each
from workers.adapters.mapping.pointer import Pointer
from workers.adapters.rest.settings import RestArgs

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


def stamps(source: Source, args: RestArgs) -> Callable[[Any], datetime | None]:
    """Return a function that reads the time by which the list is ordered."""
    named = {canonical(name): at for name, at in args.map.items()}
    selector = args.modified_field or named.get("entry_time", ())
    pointers = [Pointer(text) for text in each(selector)]
    times = Times.of(source, args)

    def stamp(record: Any) -> datetime | None:
        found = [pointer.first(record) for pointer in pointers]
        if not found or None in found:
            return None
        value = found[0] if len(found) == 1 else " ".join(map(str, found))
        try:
            moment = times.read(value)
        except MalformedEntryError:
            # `parse` rejects it; here it merely has no place in the order.
            return None
        return moment.at if moment else None

    return stamp


def unexpected(reply: Reply, why: str) -> IngestionError:
    """Return the error of an answer in another shape."""
    shown = reply.body[:_SHOWN].decode("utf-8", "replace")
    return IngestionError(
        "The source answers in another shape than its settings say.",
        reason="unexpected_shape",
        technical=f"{why}: {shown!r}",
    )


def hold_to_order(
    args: RestArgs, times: Iterable[datetime | None], last: datetime | None
) -> datetime | None:
    """Raise if an ascending list is out of order: a cursor would skip entries."""
    if not args.is_ascending or not args.params.since:
        return None
    for at in times:
        if at is None:
            continue
        if last is not None and at < last:
            raise IngestionError(
                f"The list is not in the order of {args.order}: look at `order` and"
                " at the parameters that ask for it.",
                reason="unexpected_shape",
            )
        last = at
    return last
