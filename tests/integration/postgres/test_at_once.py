"""Statements that go out together: one transaction, its limits, and how it fails."""

import contextvars
import time
from collections.abc import Iterator

import pytest

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.postgres import request_deadline, statement_deadline
from shared.postgres.pool import (
    Pool,
    connect,
    connection,
    make_pool,
    pipelined_connection,
)
from tests.support.waiting import until

LIMIT = "SELECT current_setting('statement_timeout')"


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    pool = make_pool(database, application="test", size=1)
    yield pool
    pool.close()


def limit_after(pool: Pool) -> tuple[str, str]:
    """Return the limit of either kind of use, on the one connection that there is."""
    with pipelined_connection(pool) as conn:
        together = conn.execute(LIMIT, prepare=True)
    with connection(pool) as conn:
        alone = conn.execute(LIMIT).fetchall()
    return together.fetchall()[0][0], alone[0][0]


def test_rows_are_read_after_the_block_and_limits_end_with_it(pool):
    for _ in range(3):
        with pipelined_connection(pool) as conn:
            statement_deadline.limit_time(conn, 1234, one_plan=True)
            limits = conn.execute(LIMIT, prepare=True)
            numbers = conn.execute("SELECT generate_series(1, 3)", prepare=True)
        assert limits.fetchall() == [("1234ms",)]
        assert numbers.fetchall() == [(1,), (2,), (3,)]
        assert limit_after(pool) == ("4s", "4s")


def together(pool: Pool, *statements: str, limit_ms: int = 4000) -> None:
    """Send them all, and wait for none of them."""
    with pipelined_connection(pool) as conn:
        statement_deadline.limit_time(conn, limit_ms)
        for statement in statements:
            conn.execute(statement.encode(), prepare=True)


def left_by_an_exception(pool: Pool, statement: str) -> None:
    with pipelined_connection(pool) as conn:
        conn.execute(statement.encode(), prepare=True).fetchall()
        raise ZeroDivisionError


def test_what_was_written_before_a_failure_is_not_kept(pool):
    with connection(pool) as conn:
        conn.execute("CREATE TABLE note (number int PRIMARY KEY)")
    write = "INSERT INTO note VALUES ({}) RETURNING number"
    together(pool, write.format(1), write.format(2))
    for number in (3, 4):
        with pytest.raises(DatabaseQueryError) as caught:
            together(pool, write.format(number), write.format(1))
        assert "23505" in (caught.value.technical or "")
    with pytest.raises(ZeroDivisionError):
        left_by_an_exception(pool, write.format(5))
    with pipelined_connection(pool) as conn:
        kept = conn.execute("SELECT number FROM note ORDER BY number", prepare=True)
    assert kept.fetchall() == [(1,), (2,)]
    assert limit_after(pool) == ("4s", "4s")


def raised_within(pool: Pool) -> None:
    with pytest.raises(ZeroDivisionError):
        left_by_an_exception(pool, "SELECT 1")


def refused_within(pool: Pool) -> None:
    with pytest.raises(DatabaseQueryError):
        together(pool, "SELECT 1 / (random() * 0)::int", "SELECT 3")


@pytest.mark.parametrize("fail", [raised_within, refused_within])
def test_what_is_prepared_is_prepared_after_any_ending(pool, fail):
    for _ in range(3):
        together(pool, "SELECT 1", "SELECT 2")
        fail(pool)
        for _ in range(3):
            together(pool, "SELECT 1", "SELECT 2", "SELECT 3")


def test_what_takes_too_long_is_ended_by_the_limit_that_went_before_it(pool):
    began = time.monotonic()
    with pytest.raises(DatabaseQueryError) as caught:
        together(pool, "SELECT pg_sleep(3)", "SELECT 1", limit_ms=50)
    assert caught.value.retriable
    assert caught.value.out_of_time
    assert time.monotonic() - began < 2
    # What was not reached is not believed to be prepared.
    together(pool, "SELECT 1")


def ended_meanwhile(pool: Pool, database: str) -> None:
    alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    with (
        connect(database, application="test", autocommit=True) as other,
        pipelined_connection(pool) as conn,
    ):
        pid = conn.info.backend_pid
        other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        until(lambda: other.execute(alive, (pid,)).fetchone() == (0,), within_seconds=5)
        conn.execute("SELECT 1", prepare=True).fetchall()


def test_a_connection_that_the_server_ends_fails_once_and_is_replaced(pool, database):
    with pytest.raises((DatabaseQueryError, DatabaseConnectionError)) as caught:
        ended_meanwhile(pool, database)
    assert caught.value.retriable
    assert limit_after(pool) == ("4s", "4s")


def test_a_request_that_has_no_patience_left_is_not_kept_waiting(pool):
    def run() -> None:
        request_deadline.begin(0.5)
        together(pool, "SELECT pg_sleep(3)")

    began = time.monotonic()
    with pytest.raises(DatabaseConnectionError):
        contextvars.copy_context().run(run)
    assert time.monotonic() - began < 2
    assert limit_after(pool) == ("4s", "4s")
