"""Walks over an adapter, and the entries that a test has a stub hold."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.adapter_contract import contract
from workers.adapters.kit.stub import Stub, StubEntry

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)


def fill(
    stub: Stub,
    count: int,
    *,
    first: int = 1,
    start: datetime = NOON,
    step: timedelta = timedelta(minutes=1),
    **more: Any,
) -> list[str]:
    """Add entries one step apart, and return their ids."""
    return [
        stub.add(StubEntry(n, start + n * step, title=f"T{n}", **more))
        for n in range(first, first + count)
    ]


def walk(
    adapter: contract.Adapter,
    since: contract.Cursor | None = None,
    window: contract.Window | None = None,
) -> list[contract.AdapterPage]:
    """Read to the end; every cursor on the way may be stored."""
    pages = list(adapter.pages(since, window))
    for page in pages:
        assert len(json.dumps(page.cursor)) <= contract.MAX_CURSOR_BYTES
        assert page.cursor["v"] == 1
    return pages


def ids(pages: Iterable[contract.AdapterPage]) -> list[str]:
    return [item.external_id for page in pages for item in page.items]
