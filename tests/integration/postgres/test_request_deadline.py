"""One request waits for Postgres only so long, in all and whatever makes it slow."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from uuid import UUID

import psycopg
import pytest

from api.search import own_jobs
from api.server.thread_pool import Threads, run_step
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError, LogchordError
from shared.postgres import request_deadline
from shared.postgres.pool import Pool, connection, make_pool

LIMIT_SECONDS = 1.0
# The watch looks four times a second.
LATE_SECONDS = 1.0


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    pool = make_pool(database, application="test", size=1)
    yield pool
    pool.close()


def nap(pool: Pool, *naps: float) -> None:
    for seconds in naps:
        with connection(pool) as conn:
            conn.execute("SELECT pg_sleep(%s)", [seconds])


def in_a_request(step: Callable[..., object], *args: object) -> tuple[float, str]:
    def run() -> tuple[float, str]:
        request_deadline.begin(LIMIT_SECONDS)
        began = time.monotonic()
        try:
            step(*args)
        except LogchordError as exc:
            return time.monotonic() - began, exc.error_code
        return time.monotonic() - began, ""

    return contextvars.copy_context().run(run)


@pytest.mark.parametrize("naps", [(3.0,), (0.4, 0.4, 0.4)])
def test_a_request_gives_up_although_each_statement_is_within_its_limit(pool, naps):
    seconds, code = in_a_request(nap, pool, *naps)
    assert code == DatabaseConnectionError.code
    assert seconds < LIMIT_SECONDS + LATE_SECONDS


def test_a_request_waits_for_a_thread_no_longer_than_for_anything(pool):
    def in_a_thread() -> None:
        here = contextvars.copy_context()
        threads.submit(here.run, nap, pool, 3.0).result()

    with Threads(1) as threads:
        busy = threads.submit(nap, pool, 2 * LIMIT_SECONDS)
        seconds, code = in_a_request(in_a_thread)
    assert busy.exception() is None
    assert code == DatabaseConnectionError.code
    assert seconds < 2 * LIMIT_SECONDS + LATE_SECONDS


def test_whoever_looks_for_a_job_has_the_time_of_their_request_alone(pool, database):
    anna = Scope("default", "anna")
    ctx, caller = SimpleNamespace(pool=pool), SimpleNamespace(scope=anna)
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE job")
        seconds, code = in_a_request(own_jobs.find, ctx, caller, UUID(int=1))
    assert code == DatabaseConnectionError.code
    assert seconds < LIMIT_SECONDS + LATE_SECONDS


def test_what_one_request_ended_serves_the_next(pool):
    in_a_request(nap, pool, 3.0)
    seconds, code = in_a_request(nap, pool, 0.0)
    assert (code, seconds < LIMIT_SECONDS) == ("", True)


def test_a_request_waits_for_a_connection_no_longer_than_for_anything(pool):
    with pool.connection():
        seconds, code = in_a_request(nap, pool, 0.0)
    assert code == DatabaseConnectionError.code
    assert seconds < LIMIT_SECONDS + LATE_SECONDS


def test_each_step_of_a_long_request_has_the_time_of_one_with_its_thread():
    async def long_request() -> tuple[float, float]:
        with Threads(1) as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            request_deadline.begin(0.0)
            without = await asyncio.to_thread(request_deadline.at_most, 60.0)
            pool.submit(threading.Event().wait, 0.5)
            return without, await run_step(request_deadline.at_most, 60.0)

    without, left = asyncio.run(long_request())
    assert without == 0.0
    assert 0.0 < left < request_deadline.REQUEST_SECONDS - 0.4


def test_outside_a_request_there_is_no_such_limit(pool):
    began = time.monotonic()
    nap(pool, LIMIT_SECONDS + LATE_SECONDS)
    assert time.monotonic() - began >= LIMIT_SECONDS + LATE_SECONDS
