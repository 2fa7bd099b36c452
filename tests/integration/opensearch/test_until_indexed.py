"""Whoever waits for the index has it opened again where the engine was busy."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from opensearchpy import exceptions as driver

from api.entries import until_indexed
from shared.postgres.pool import make_pool
from shared.settings.settings import Settings


class Busy:
    """An engine whose refreshes time out so many times, as a busy one's do.

    The error is the one that the driver was seen to raise then.
    """

    def __init__(self, times: int) -> None:
        self.left = times
        self.asked: list[float] = []
        self.indices = self

    def refresh(self, *, index: str, params: dict[str, Any]) -> None:
        assert index
        self.asked.append(params["request_timeout"])
        self.left -= 1
        if self.left >= 0:
            raise driver.ConnectionTimeout("TIMEOUT", "Read timed out", Exception())


@pytest.mark.parametrize(
    ("times", "wait_ms", "found"),
    [
        (0, 0, True),
        (1, 8000, True),
        (3, 8000, True),
        (1, 0, False),
        (10**6, 300, False),
    ],
)
def test_a_refresh_that_timed_out_is_tried_again_within_the_time(
    database: str, times: int, wait_ms: int, *, found: bool
) -> None:
    engine = Busy(times)
    pool = make_pool(database, application="test", size=2)
    ctx: Any = SimpleNamespace(pool=pool, settings=Settings.load({}), opensearch=engine)
    with pool:
        assert asyncio.run(until_indexed.wait(ctx, [], wait_ms)) is found
    assert all(seconds <= max(1.0, wait_ms / 1000) for seconds in engine.asked)
    if found:
        assert len(engine.asked) == times + 1
