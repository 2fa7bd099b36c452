"""So many documents as a worker may hold at once, and the next read meanwhile."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar
from uuid import UUID

# By the bytes of their texts. Two portions are held: one is written, the next is read.
MOST_BYTES = 2_000_000

Portion = TypeVar("Portion")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Sized:
    """An entry, and how much its text takes."""

    id: UUID
    tenant: str
    size: int


def cut(rows: Iterable[Sized], *, most: int) -> Iterator[tuple[str, list[UUID]]]:
    """Yield portions of entries of one tenant, bounded in number and size."""
    in_order = sorted(rows, key=lambda row: (row.tenant, row.id))
    for tenant, group in groupby(in_order, key=lambda row: row.tenant):
        ids: list[UUID] = []
        size = 0
        for row in group:
            if ids and (len(ids) == most or size + row.size > MOST_BYTES):
                yield tenant, ids
                ids, size = [], 0
            ids.append(row.id)
            size += row.size
        yield tenant, ids


def use_beside(
    portions: Iterable[Portion], use: Callable[[Portion], Answer]
) -> Generator[tuple[Portion, Answer]]:
    """Have a thread use each portion; yield it with the answer while the next is used.

    Whoever takes them and makes them does so meanwhile. A time limit interrupts the
    task's own thread and no other. So that is the one that makes them, which may hang;
    what the thread does must end by itself, and is waited for.
    """
    with ThreadPoolExecutor(1) as thread:
        used: tuple[Portion, Future[Answer]] | None = None
        for one in portions:
            before = (used[0], used[1].result()) if used is not None else None
            used = one, _begun(thread, use, one)
            if before is not None:
                yield before
        if used is not None:
            yield used[0], used[1].result()


def _begun(
    thread: ThreadPoolExecutor, use: Callable[[Portion], Answer], one: Portion
) -> Future[Answer]:
    try:
        return thread.submit(use, one)
    except RuntimeError as exc:
        # No memory was left for a thread: the process is full, no entry is to blame.
        raise MemoryError(str(exc)) from exc
