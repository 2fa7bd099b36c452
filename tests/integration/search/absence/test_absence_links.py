"""A connection that an empty page does without costs what it was for, and no more."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from shared.entries.draft import EntryDraft
from shared.log import get_logger
from shared.postgres.pool import Pool, connection, make_pool
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import background_count, coverage
from shared.search.absence.coverage import Coverage
from tests.support.fixtures.asking import Asking
from tests.support.pools import pools_in_turn
from tests.support.saving import add_source

LEFT_MS = 3_000
# Whoever did not hurry would wait so long for a connection.
POOL_SECONDS = 60.0


@pytest.fixture
def busy(database: str) -> Iterator[Pool]:
    """A pool whose one connection another holds."""
    pool = make_pool(database, application="test", size=1, wait_seconds=POOL_SECONDS)
    conn = pool.getconn()
    yield pool
    pool.putconn(conn)
    pool.close()


@pytest.fixture
def closed(database: str) -> Pool:
    """A pool that nobody gets a connection of any more."""
    pool = make_pool(database, application="test", size=1)
    pool.close()
    return pool


def covered(asking: Asking, other: Pool, left_ms: int) -> Coverage:
    """Return what is read of the sources from one pool, and counted from another."""
    asking.write(EntryDraft("shift", "quiet", "Nothing of note"))
    with connection(asking.pool) as conn:
        month, hours = timedelta(days=30), timedelta(hours=2)
        add_source(conn, "shift", loaded=month, behind=hours)
    plan = asking.plan("unheardof")
    branches = asking.conclude(plan, asking.carried_out(plan)).branches
    left = Deadline.after(left_ms)
    pool = pools_in_turn(asking.pool, other)
    return coverage.measure_coverage(pool, plan, branches, left)


def test_what_cannot_be_counted_for_want_of_a_connection_costs_nothing_else(
    asking: Asking, closed: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that has logged before may keep to what was configured then.
    monkeypatch.setattr(background_count, "log", get_logger())
    # How long the other statements take is none of this.
    monkeypatch.setattr(coverage, "COUNT_MS", 10_000)
    with capture_logs() as logs:
        found = covered(asking, closed, 20_000)
    assert (found.counts, found.waiting) == (None, 0)
    assert [one.source for one in found.standings] == ["shift"]
    assert [one.why for one in found.unknown] == ["lag"]
    assert [one["event"] for one in logs] == ["coverage_not_counted"]


def test_nobody_waits_for_a_connection_beyond_the_end_of_an_answer(asking, busy):
    began = time.monotonic()
    found = covered(asking, busy, LEFT_MS)
    assert found.counts is None
    assert [one.source for one in found.standings] == ["shift"]
    assert time.monotonic() - began < POOL_SECONDS / 2
