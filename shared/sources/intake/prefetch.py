"""One item is made ready while the one before is used: one, and no more."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def one_ahead(
    items: Generator[T, None, None], is_last: Callable[[T], bool]
) -> Generator[T, None, None]:
    """Yield what a generator yields; a thread asks for the next one meanwhile.

    That thread alone begins, asks and closes the generator. What it raises comes when
    the item would have come; behind the last one nothing is asked for.
    """
    # What it logs belongs to the same run.
    context = copy_context()

    def ask() -> T | None:
        return next(items, None)

    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        try:
            coming = thread.submit(context.run, ask)
            while (item := coming.result()) is not None:
                if is_last(item):
                    yield item
                    return
                coming = thread.submit(context.run, ask)
                yield item
        finally:
            # Behind the item that it may be at just now.
            thread.submit(context.run, items.close).result()
