"""One pace for a source, over all processes; what it remembers, row by row."""

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager

import psycopg
import pytest

from shared.errors import SourceUnreachableError
from shared.http.pace import LocalPace, Pace
from shared.settings.source_sections import SourceSettings
from shared.sources import adapter_memory
from shared.sources.adapter_io import make_io
from shared.sources.shared_pace import SharedPace
from tests.support.stub_servers.raw_http import http, raw_server
from tests.support.waiting import until


def never() -> bool:
    return False


def soon() -> float:
    return time.monotonic() + 30


@contextmanager
def shared(database: str, *, rate=1000, concurrency=2, urgent=True):
    pace = SharedPace(
        database,
        source="ring",
        tenant="default",
        rate_per_second=rate,
        concurrency=concurrency,
        is_urgent=urgent,
    )
    yield pace
    pace.close()


@pytest.fixture
def state(database) -> str:
    with psycopg.connect(database) as conn:
        conn.execute(
            "INSERT INTO source_state (source, tenant, adapter, config_hash, config)"
            " VALUES ('ring', 'default', 'olog', 'x', '{}')"
        )
    return database


def taken_by(paces: list[Pace], each: int, hold: float = 0.0) -> list[tuple]:
    """Let every pace take turns in a thread of its own; return when they held one.

    In seconds since before the first: what is late is late for a loaded machine, but
    nothing may be early.
    """
    held: list[tuple[float, float]] = []
    start = time.monotonic()

    def work(pace: Pace) -> None:
        for _ in range(each):
            with pace.turn(soon(), never):
                began = time.monotonic() - start
                threading.Event().wait(hold)
                held.append((began, time.monotonic() - start))

    threads = [threading.Thread(target=work, args=(pace,)) for pace in paces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return sorted(held)


def test_requests_of_several_processes_keep_one_rate(state):
    with (
        shared(state, rate=20, concurrency=3) as one,
        shared(state, rate=20, concurrency=3) as two,
        shared(state, rate=20, concurrency=3, urgent=False) as three,
    ):
        held = taken_by([one, two, three], 4)
    assert len(held) == 12
    assert all(began >= turn * 0.05 for turn, (began, _) in enumerate(held))


@pytest.mark.parametrize("concurrency", [1, 2])
def test_requests_of_several_processes_keep_one_limit(state, concurrency):
    with (
        shared(state, concurrency=concurrency) as one,
        shared(state, concurrency=concurrency) as two,
        shared(state, concurrency=concurrency, urgent=False) as three,
    ):
        held = taken_by([one, two, three], 3, hold=0.05)
    most = max(
        sum(began <= at < ended for began, ended in held)
        for at in [began for began, _ in held]
    )
    assert len(held) == 9
    assert most <= concurrency


def test_a_tail_goes_before_a_backfill_that_has_waited_longer(state):
    order: list[str] = []

    def take(pace: Pace, name: str) -> None:
        with pace.turn(soon(), never):
            order.append(name)

    with (
        shared(state, concurrency=1) as first,
        shared(state, concurrency=1) as tail,
        shared(state, concurrency=1, urgent=False) as bulk,
    ):
        waiting = [
            threading.Thread(target=take, args=(bulk, "bulk")),
            threading.Thread(target=take, args=(tail, "tail")),
        ]
        with first.turn(soon(), never):
            for thread in waiting:
                thread.start()
            until(lambda: tail_calls(state), within_seconds=10)
        for thread in waiting:
            thread.join(30)
    assert order == ["tail", "bulk"]


def tail_calls(database: str) -> bool:
    with psycopg.connect(database) as conn:
        # Other tests hold such locks in databases of their own.
        found = conn.execute(
            "SELECT 1 FROM pg_locks JOIN pg_database ON oid = database"
            " WHERE locktype = 'advisory' AND mode = 'ShareLock'"
            "   AND datname = current_database()"
        )
        return found.fetchone() is not None


def test_whoever_dies_gives_the_slot_back(state):
    with shared(state, concurrency=1) as dead, shared(state, concurrency=1) as other:
        turn = dead.turn(soon(), never)
        turn.__enter__()
        with psycopg.connect(state) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        with other.turn(time.monotonic() + 10, never):
            pass
        turn.__exit__(None, None, None)
        with dead.turn(time.monotonic() + 10, never):
            pass


def test_who_cannot_be_served_in_time_reserves_nothing(state):
    with shared(state, rate=0.1) as one, shared(state, rate=0.1) as two:
        with one.turn(soon(), never):
            pass
        for _ in range(3):
            with (
                pytest.raises(SourceUnreachableError) as caught,
                two.turn(time.monotonic() + 1, never),
            ):
                pass
            assert caught.value.reason == "paced"
            assert 1 <= (caught.value.retry_after_seconds or 0) <= 10


def test_a_rest_that_the_source_asks_for_holds_for_everybody(state):
    with shared(state) as one, shared(state, urgent=False) as two:
        one.rest(1)
        began = time.monotonic()
        with two.turn(soon(), never):
            assert time.monotonic() - began >= 0.9


@pytest.mark.parametrize("urgent", [True, False])
def test_a_source_without_a_row_keeps_its_pace_alone(database, urgent):
    with shared(database, rate=20, urgent=urgent) as pace:
        held = taken_by([pace], 4)
    assert all(began >= turn * 0.05 for turn, (began, _) in enumerate(held))


@pytest.mark.parametrize("make", [LocalPace, None])
def test_waiting_ends_when_the_run_is_stopped(state, make: Callable | None):
    stopped = threading.Event()
    with shared(state, rate=0.1) as ours:
        pace = make(0.1, 1) if make else ours
        with pace.turn(soon(), never):
            pass
        threading.Timer(0.3, stopped.set).start()
        began = time.monotonic()
        with (
            pytest.raises(SourceUnreachableError) as caught,
            pace.turn(soon(), stopped.is_set),
        ):
            pass
    assert caught.value.reason == "cancelled"
    assert time.monotonic() - began < 3


def test_one_process_keeps_rate_and_limit_alone():
    held = taken_by([LocalPace(20, 2)] * 3, 3, hold=0.01)
    assert all(began >= turn * 0.05 for turn, (began, _) in enumerate(held))


def test_a_source_that_asks_for_a_wait_is_left_alone_by_others_as_well(state):
    late = http("429 Slow down", Retry_After="1")
    with raw_server(late, http("200 OK")) as server, shared(state) as other:
        settings = SourceSettings(
            adapter="olog", base_url=server.url, max_retries=0, rate_per_second=100
        )
        with (
            shared(state) as pace,
            make_io("ring", settings, pace=pace) as io,
            pytest.raises(SourceUnreachableError),
        ):
            io.http.get(server.url)
        began = time.monotonic()
        with other.turn(soon(), never):
            assert time.monotonic() - began > 0.5


def test_what_a_source_remembers_is_kept_row_by_row(conn):
    values = {"b": {"etag": '"1"'}, "a": [1, "\0 \ud800 \\u0000"], "c": "x", "n": None}
    adapter_memory.save(conn, "ring", values)
    adapter_memory.save(conn, "other", {"a": 1})
    kept = adapter_memory.load(conn, "ring", "")
    assert kept == {"a": [1, "\ufffd ? \\u0000"], "b": {"etag": '"1"'}, "c": "x"}
    adapter_memory.save(conn, "ring", {"b": {"etag": '"2"'}, "c": None, "gone": None})
    assert adapter_memory.load(conn, "ring", "") == {
        "a": kept["a"],
        "b": {"etag": '"2"'},
    }
    assert list(adapter_memory.load(conn, "ring", "aa")) == ["b"]
    adapter_memory.save(conn, "ring", {})
    assert adapter_memory.load(conn, "other", "") == {"a": 1}
