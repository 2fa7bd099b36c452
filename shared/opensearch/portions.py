"""So many documents as a worker may hold at once, and the next read meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar
from uuid import UUID

# By the bytes of their texts as they are stored.
MOST_BYTES = 4_000_000

Portion = TypeVar("Portion")


@dataclass(frozen=True, slots=True)
class Sized:
    """An entry, and how much its text takes."""

    id: UUID
    tenant: str
    size: int


def cut(rows: Iterable[Sized], *, most: int) -> Iterator[tuple[str, list[UUID]]]:
    """Yield entries of one tenant each, so many and so large as one may hold."""
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


def ahead(portions: Iterator[Portion]) -> Generator[Portion, None, None]:
    """Yield what comes, while a thread makes the next of it."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, portions, None)
        while (one := coming.result()) is not None:
            coming = pool.submit(next, portions, None)
            yield one
