"""So many documents as a worker may hold at once, and the next read meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Generic, Self, TypeVar
from uuid import UUID

# By the bytes of their texts. Two portions are held: one is written, the next is read.
MOST_BYTES = 2_000_000

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Sized:
    """An entry, and how much its text takes."""

    id: UUID
    tenant: str
    size: int


def cut(rows: Iterable[Sized], *, most: int) -> Iterator[tuple[str, list[UUID]]]:
    """Yield entries of one tenant each, so many and so large as one may hold."""
    in_order = sorted(rows, key=lambda row: (row.tenant, row.id.int))
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


@dataclass(frozen=True, slots=True)
class _OnItsWay(Generic[Answer]):
    answer: Future[Answer]
    then: Callable[[Future[Answer]], None]


class Beside(Generic[Answer]):
    """A thread that uses a portion while its owner makes the next, one at a time.

    A time limit interrupts the task's own thread and no other. So that is the one that
    makes them, which may hang; what the thread does must end by itself, and is waited
    for.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._used: _OnItsWay[Answer] | None = None

    def __enter__(self) -> Self:
        """Nothing is begun before there is something to use."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no thread behind; what is on its way then is seen to by nobody."""
        self._thread.shutdown()

    def use(
        self, portion: Callable[[], Answer], then: Callable[[Future[Answer]], None]
    ) -> None:
        """Begin to use it once the one before is used, which is seen to meanwhile.

        What comes of it is given to `then`, by a later call or by `wait`.
        """
        before = self._used
        if before is not None:
            wait((before.answer,))
        self._used = _OnItsWay(_begun(self._thread, portion), then)
        if before is not None:
            before.then(before.answer)

    def wait(self) -> None:
        """See to what is still on its way, if anything is."""
        before = self._used
        if before is not None:
            wait((before.answer,))
            self._used = None
            before.then(before.answer)


def _begun(thread: ThreadPoolExecutor, portion: Callable[[], Answer]) -> Future[Answer]:
    try:
        return thread.submit(portion)
    except RuntimeError as exc:
        # No memory was left for a thread: the process is full, no entry is to blame.
        raise MemoryError(str(exc)) from exc
