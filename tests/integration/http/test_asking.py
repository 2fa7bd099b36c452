"""How a source is asked unless its settings say otherwise: spans, tries, patience."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from shared.settings.source_sections import SourceSettings
from shared.sources import run_records
from tests.contract.stubs.generic_rest import RestStub
from workers.adapters.kit.stub import StubEntry

NAME = "ring"
NOW = datetime.now(UTC).replace(microsecond=0)
YEAR = timedelta(days=365)


def spans(stub: RestStub) -> list[tuple[datetime, datetime]]:
    """Return the stretches of time that were asked for, in order, each once."""
    asked: list[dict[str, Any]] = [
        parse_qs(urlsplit(one.partition(" ")[2]).query) for one in stub.requests()
    ]
    found = [
        (datetime.fromisoformat(one["from"][0]), datetime.fromisoformat(one["to"][0]))
        for one in asked
    ]
    return list(dict.fromkeys(found))


@pytest.mark.requirement("O05")
def test_a_history_is_asked_for_by_days_a_month_and_then_by_years(runtime):
    stub = runtime.stub(RestStub)
    for years in range(7):
        stub.add(StubEntry(years + 1, NOW - timedelta(days=1) - years * YEAR))
    began = NOW - 6 * YEAR - timedelta(days=10)
    runtime.configure(NAME, stub, history_start=began.isoformat())

    run = runtime.run(NAME, run_records.BACKFILL)

    assert (run.error, run.added) == (None, 7)
    first, then, *others = spans(stub)
    second = timedelta(seconds=2)
    for days, (lower, upper) in ((2, first), (28, then)):
        assert timedelta(days=days) <= upper - lower <= timedelta(days=days) + second
    assert timedelta(days=30) <= first[1] - then[0] <= timedelta(days=30) + second
    sizes = [upper - lower for lower, upper in others[:-1]]
    assert all(YEAR <= size <= YEAR + second for size in sizes), sizes
    assert others[-1][0] == began
    for later, earlier in pairwise([first, then, *others]):
        assert timedelta() <= earlier[1] - later[0] <= second


@pytest.mark.requirement("O05")
def test_a_request_is_tried_three_times_more_and_none_outlives_its_task(runtime):
    stub = runtime.stub(RestStub)
    stub.add(StubEntry(1, NOW))
    usual = SourceSettings()
    tries = usual.max_retries
    runtime.configure(NAME, stub, max_retries=tries, retry_delay_seconds=0.1)
    stub.fault("500", times=100)

    began = time.monotonic()
    run = runtime.run(NAME)

    assert run.error is not None
    assert len(stub.requests()) == 4
    # Twice as long each time, and a little more.
    assert time.monotonic() - began >= 0.1 + 0.2 + 0.4
    assert (usual.chunk_days, usual.request_timeout_seconds) == (365, 15)
    assert (usual.max_retries, usual.retry_delay_seconds) == (3, 5)
