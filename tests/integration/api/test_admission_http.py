"""What one key may have under way at once, over HTTP: here no worker ends any of it."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import httpx2
import psutil
import psycopg
import pytest

from tests.support.faults.measures import size
from tests.support.fixtures.system import System
from tests.support.waiting import until

QUERY, JOBS = "/v1/search/query", "/v1/search/jobs"
DEADLINE_MS = 6000
# Of six places: four fifths.
OWN_PLACES = 4
# One that leaves its answer behind takes a place as one that waits for it does.
WAYS: list[tuple[str, dict[str, Any]]] = [(JOBS, {}), (QUERY, {"wait_ms": 0})]
FANOUT_CAP = 24
# As many as SEC13 has it by `make faults-all`.
ASKED = size.times(600, 10_000)
MIB = 2**20


def ask(
    client: httpx2.Client, way: tuple[str, dict[str, Any]] = WAYS[0], **fields: Any
) -> httpx2.Response:
    path, more = way
    body = {"query": "beam dump", "mode": "hybrid", "deadline_ms": DEADLINE_MS}
    return client.post(path, json={**body, **more, **fields})


def with_api(make_system: Callable[..., System], **options: Any) -> System:
    """Return a system whose API answers, and of which no worker runs."""
    system = make_system(**options)
    system.start("api")
    system.wait_ready()
    return system


def pass_seconds(seconds: float) -> None:
    """Let a deadline pass."""
    over = time.monotonic() + seconds
    until(lambda: time.monotonic() > over, within_seconds=seconds + 5)


@pytest.mark.requirement("SEC13", "S1-101")
@pytest.mark.timeout(size.times(120, 600))
def test_one_key_has_its_share_of_places_time_and_branches_however_often_it_asks(
    make_system: Callable[..., System],
) -> None:
    system = with_api(
        make_system,
        afresh=True,
        LOGCHORD_MAX_CONCURRENT_SEARCHES="6",
        LOGCHORD_SEARCH_QUEUE_LIMIT="4",
        LOGCHORD_SEARCH_QUEUE_WAIT_MS="50",
    )
    with system.client() as greedy, system.client() as other:
        # Neither longer than twice its mode, nor by a model, at anybody's cost.
        assert ask(greedy, deadline_ms=DEADLINE_MS + 1).status_code == 422
        assert ask(greedy, synthesize="llm").status_code == 422
        began = time.monotonic()
        first = [ask(greedy, WAYS[n % 2]) for n in range(OWN_PLACES)]
        assert [one.status_code for one in first] == [202] * OWN_PLACES
        jobs = [greedy.get(one.headers["Location"]).json() for one in first]
        assert [one["queue_position"] for one in jobs] == [*range(OWN_PLACES)]
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask, greedy, WAYS[n % 2]) for n in range(ASKED)]
            answers = [one.result() for one in asked]
        seconds = time.monotonic() - began
        statuses = Counter(one.status_code for one in answers)
        assert set(statuses) <= {202, 429}
        # A place gets free when its search is over, which takes it almost 6 s.
        assert statuses[202] <= OWN_PLACES * (seconds // 5)
        refused = next(one for one in answers if one.status_code == 429)
        assert refused.json()["error"]["code"] == "too_many_searches"
        assert refused.headers["Retry-After"] == "1"
        # The rest is for whoever else asks.
        assert ask(other).status_code == 202
        assert ask(other, WAYS[1]).status_code == 202
        until(
            lambda: ask(greedy).status_code == 202,
            within_seconds=20,
            what="a place that is free again",
        )
    used = psutil.Process(system.processes["api"].pid).memory_info().rss
    assert used < 512 * MIB
    with psycopg.connect(system.database) as conn:
        most = "SELECT max(jsonb_array_length(plan -> 'branches')) FROM job"
        (branches,) = conn.execute(most).fetchone() or (None,)
    assert 1 <= branches <= FANOUT_CAP


def row_of(system: System, job_id: str) -> tuple[datetime, datetime]:
    with psycopg.connect(system.database) as conn:
        read = "SELECT created_at, deadline_at FROM job WHERE id = %s"
        found = conn.execute(read, (job_id,)).fetchone()
    assert found is not None
    return found


def test_what_a_search_waits_for_a_place_is_of_its_own_time(make_system) -> None:
    system = with_api(
        make_system,
        LOGCHORD_MAX_CONCURRENT_SEARCHES="1",
        LOGCHORD_SEARCH_QUEUE_WAIT_MS="10000",
    )
    with system.client() as client:
        first, second = (
            ask(client, WAYS[1], deadline_ms=ms).json()["job_id"] for ms in (3000, 5000)
        )
    _, is_over = row_of(system, first)
    created, deadline = row_of(system, second)
    # It came while the first one had the place, which that gave back at its end.
    assert created < is_over - timedelta(seconds=1)
    assert abs(deadline - created - timedelta(seconds=5)) < timedelta(milliseconds=50)


def test_who_could_not_be_done_in_time_is_told_so_at_once(make_system) -> None:
    places = 6
    system = with_api(
        make_system,
        LOGCHORD_MAX_CONCURRENT_SEARCHES=str(places),
        LOGCHORD_SEARCH__SHARE_PER_KEY="1.0",
        LOGCHORD_SEARCH_QUEUE_WAIT_MS="10000",
    )
    with system.client() as client, ThreadPoolExecutor(places) as pool:
        # Each has its place for almost 3 s, for nobody answers it.
        asked = [
            pool.submit(ask, client, (QUERY, {}), deadline_ms=3000)
            for _ in range(places)
        ]
        assert {one.result().status_code for one in asked} == {504}
        for _ in range(places):
            assert ask(client, WAYS[1]).status_code == 202
        began = time.monotonic()
        refused = ask(client, (QUERY, {}), deadline_ms=2500)
        took = time.monotonic() - began
    assert refused.status_code == 429
    # Not after the 2.5 s: a place would have come too late for it.
    assert took < 1.25


def test_the_time_of_whoever_sends_slowly_is_none_of_the_search(make_system) -> None:
    system = with_api(make_system)
    asked = {"query": "beam dump", "mode": "hybrid", "wait_ms": 0, "deadline_ms": 500}
    text = json.dumps(asked).encode()

    def slowly() -> Iterator[bytes]:
        yield text[:10]
        pass_seconds(1.0)
        yield text[10:]

    with system.client() as client:
        headers = {"Content-Type": "application/json"}
        answer = client.post(QUERY, content=slowly(), headers=headers)
    assert answer.status_code == 202
    created, deadline = row_of(system, answer.json()["job_id"])
    assert deadline - created == pytest.approx(
        timedelta(seconds=0.5), abs=timedelta(milliseconds=100)
    )


def test_what_is_over_before_it_is_sent_is_called_late_and_blames_no_broker(
    make_system: Callable[..., System],
) -> None:
    system = with_api(make_system)
    with (
        system.client() as client,
        psycopg.connect(system.database) as conn,
        ThreadPoolExecutor(1) as pool,
    ):
        # Whose key it is cannot be looked up meanwhile.
        conn.execute("LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE")
        asked = pool.submit(ask, client, (QUERY, {}), deadline_ms=500)
        pass_seconds(1.5)
        conn.rollback()
        answer = asked.result()
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            504,
            "search_timeout",
        )
        jobs = conn.execute("SELECT count(*) FROM job").fetchone()
    assert jobs == (0,)
