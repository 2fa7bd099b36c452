"""What a page can do without never fails it, nor makes it late."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
from structlog.testing import capture_logs

from shared.entries.draft import EntryDraft
from shared.log import get_logger
from shared.postgres.pool import Pool, make_pool
from shared.search.ranking import fold
from shared.search.results import result_page, superseded
from shared.search.results.result_page import ResultPage, read_page
from shared.search.results.superseded import NONE
from tests.support.fixtures.asking import Asking
from tests.support.pools import pools_in_turn

# One is waited for in vain, and the link to ask for the other with: for so long each.
WAIT_SECONDS = (result_page.SIMILAR_TIMEOUT_MS + superseded.TIMEOUT_MS) / 1000
# Of one that is made slower, the server would wait for 4 s.
LATE_SECONDS = 3.0
PATIENT_MS = 10_000
MARCH, APRIL = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 4))


@pytest.fixture
def other(database: str) -> Iterator[Pool]:
    """A pool of one link, which is not the one that the page is read with."""
    pool = make_pool(database, application="test", size=1)
    yield pool
    pool.close()


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has logged before may keep to what was configured then."""
    monkeypatch.setattr(result_page, "log", get_logger())


def page_of(asking: Asking, other: Pool) -> tuple[ResultPage, float]:
    """Return a page that is read from one pool, and what failed again from another."""
    asking.write(
        EntryDraft("api", "first", "QF1 current set to 3.2 A", entry_time=MARCH),
        EntryDraft("api", "second", "QF1 current set to 3.5 A", entry_time=APRIL),
    )
    plan = asking.plan("current")
    runs = fold.group_runs(asking.conclude(plan, asking.carried_out(plan)).ranked)
    alike = [
        tuple(replace(item, group_id=item.entry_id) for item in run) for run in runs
    ]
    began = time.monotonic()
    page = read_page(pools_in_turn(asking.pool, other), plan, alike, 1000)
    assert sorted(one.row.external_id for one in page) == ["first", "second"]
    return page, time.monotonic() - began


def slower(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> None:
    waits = " OFFSET (SELECT 0 FROM pg_sleep(5))"
    monkeypatch.setattr(module, name, getattr(module, name) + waits)


def warnings_of(logs: Sequence[Mapping[str, Any]]) -> set[str]:
    return {log["event"] for log in logs if log["log_level"] == "warning"}


def none_is_free(pool: Pool) -> Callable[[], None]:
    conn = pool.getconn()
    return lambda: pool.putconn(conn)


def it_has_ended(pool: Pool) -> Callable[[], None]:
    pool.close()
    return lambda: None


def test_a_count_that_takes_too_long_costs_neither_the_page_nor_its_values(
    asking, other, monkeypatch
):
    slower(monkeypatch, result_page, "_PLAINLY")
    monkeypatch.setattr(superseded, "TIMEOUT_MS", PATIENT_MS)
    with capture_logs() as logs:
        page, seconds = page_of(asking, other)
    assert warnings_of(logs) == {"likes_not_counted"}
    assert all(one.similar == 0 and one.values != NONE for one in page)
    assert seconds < WAIT_SECONDS + LATE_SECONDS


def test_values_that_take_too_long_to_compare_cost_nothing_else(
    asking, other, monkeypatch
):
    slower(monkeypatch, superseded, "_VALUES")
    monkeypatch.setattr(result_page, "SIMILAR_TIMEOUT_MS", PATIENT_MS)
    with capture_logs() as logs:
        page, seconds = page_of(asking, other)
    assert warnings_of(logs) == {"values_not_compared"}
    assert {one.values for one in page} == {NONE}
    assert seconds < WAIT_SECONDS + LATE_SECONDS


@pytest.mark.parametrize("state", [none_is_free, it_has_ended])
def test_a_page_is_told_although_no_connection_is_left_for_what_is_beside_it(
    asking, other, state, monkeypatch
):
    slower(monkeypatch, result_page, "_PLAINLY")
    undo = state(other)
    try:
        with capture_logs() as logs:
            page, seconds = page_of(asking, other)
    finally:
        undo()
    assert {(one.similar, one.values) for one in page} == {(0, NONE)}
    assert warnings_of(logs) == {"likes_not_counted", "values_not_compared"}
    assert seconds < WAIT_SECONDS + LATE_SECONDS
