"""What a page can do without never fails it, nor makes it late."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from shared.entries.draft import EntryDraft
from shared.postgres import Pool, make_pool
from shared.ranking import fold
from shared.results.page import Page, read_page
from shared.results.similar import TIMEOUT_MS
from shared.results.superseded import NONE
from tests.integration.fix_asking import Asking

# Both wait for a link, each for so long at most; a pool's own wait is two seconds.
WAIT_SECONDS = 2 * TIMEOUT_MS / 1000
LATE_SECONDS = 1.0


@pytest.fixture
def other(database: str) -> Iterator[Pool]:
    """A pool of one link, which is not the one that the page is read with."""
    pool = make_pool(database, application="test", size=1)
    yield pool
    pool.close()


def page_of(asking: Asking, other: Pool) -> tuple[Page, float]:
    """Return a page whose rows are read from one pool and the rest from another."""
    asking.write(
        EntryDraft("api", "first", "QF1 current set to 3.2 A"),
        EntryDraft("api", "second", "QF1 current set to 3.5 A"),
    )
    plan = asking.plan("current")
    runs = fold.runs(asking.conclude(plan, asking.carried_out(plan)).ranked)
    alike = [
        tuple(replace(item, group_id=item.entry_id) for item in run) for run in runs
    ]
    pools = iter((asking.pool, other, other))
    began = time.monotonic()
    page = read_page(lambda: next(pools), plan, alike, 1000)
    return page, time.monotonic() - began


def none_is_free(pool: Pool) -> Callable[[], None]:
    conn = pool.getconn()
    return lambda: pool.putconn(conn)


def it_has_ended(pool: Pool) -> Callable[[], None]:
    pool.close()
    return lambda: None


@pytest.mark.parametrize("state", [none_is_free, it_has_ended])
def test_a_page_is_told_although_no_connection_is_left_for_what_is_beside_it(
    asking: Asking, other: Pool, state: Callable[[Pool], Callable[[], None]]
) -> None:
    undo = state(other)
    try:
        with capture_logs() as logs:
            page, seconds = page_of(asking, other)
    finally:
        undo()
    assert sorted(one.row.external_id for one in page) == ["first", "second"]
    assert {(one.similar, one.values) for one in page} == {(0, NONE)}
    said = {log["event"] for log in logs if log["log_level"] == "warning"}
    assert said == {"likes_not_counted", "values_not_compared"}
    assert seconds < WAIT_SECONDS + LATE_SECONDS
