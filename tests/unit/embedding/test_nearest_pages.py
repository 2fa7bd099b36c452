"""Wider pages of the nearest: what was found on the page before stays found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from shared.embedding.vectors import nearest
from shared.embedding.vectors.nearest import Near

WHEN = datetime(2024, 6, 1, tzinfo=UTC)


def near(number: int, chunk: int, cosine: float) -> Near:
    entry_id = UUID(int=number)
    kept = ("api", "note", "human", WHEN, str(number), 1)
    return Near(entry_id, chunk, 1, 0, 9, cosine, *kept)


class Pages:
    """A search of which each page is what is told beforehand."""

    def for_page(self, _page: int) -> Pages:
        return self

    def if_in_time(self, read: Callable[[], Any]) -> Any:
        return read()


def test_a_page_that_misses_what_the_one_before_found_takes_nothing_away(monkeypatch):
    # One long entry fills the first page; of the second the index gave a part.
    first = [near(1, chunk, 0.9 - chunk / 100) for chunk in range(3)]
    told = iter([([*first, near(2, 0, 0.8)], 4.0), ([near(3, 0, 0.5)], 4.0)])
    monkeypatch.setattr(nearest, "_page_for", lambda _: 4)
    monkeypatch.setattr(nearest, "_read", lambda *_: next(told))
    search: Any = Pages()
    found = nearest._best_chunks(search, 3, None)
    assert [(one.entry_id.int, one.chunk) for one in found] == [(1, 0), (2, 0), (3, 0)]
