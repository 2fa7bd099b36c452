"""What a connection has prepared, after statements sent together that failed."""

from collections.abc import Iterator
from typing import LiteralString

import pytest

from shared.errors import LogchordError
from shared.postgres import statement_deadline
from shared.postgres.pool import Pool, make_pool, pipelined_connection

DOUBLED: LiteralString = "SELECT 2 * %s::int"


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    # One connection: whoever borrows has what the one before left.
    with make_pool(database, application="test", size=1) as pool:
        yield pool


def doubled(pool: Pool, value: int) -> int:
    with pipelined_connection(pool) as conn:
        row = conn.execute(DOUBLED, (value,), prepare=True).fetchone()
    assert row is not None
    return int(row[0])


def fail(pool: Pool) -> None:
    with pytest.raises(LogchordError), pipelined_connection(pool) as conn:
        conn.execute("SELECT 1 / 0", prepare=False).fetchone()


def fail_before(pool: Pool, value: int) -> None:
    with pipelined_connection(pool) as conn:
        conn.execute("SELECT 1 / 0", prepare=False)
        conn.execute(DOUBLED, (value,), prepare=True).fetchone()


def backend(pool: Pool) -> int:
    with pool.connection() as conn:
        return conn.info.backend_pid


def test_what_is_prepared_is_found_again_however_often_another_failed(pool: Pool):
    begun_with = backend(pool)
    for turn in range(4):
        fail(pool)
        assert doubled(pool, turn) == 2 * turn
        fail(pool)
        # By the name that the server had forgotten, this was refused for good.
        assert doubled(pool, turn) == 2 * turn
    assert backend(pool) == begun_with


def test_what_was_not_reached_is_not_believed_to_be_prepared(pool: Pool):
    for turn in range(3):
        # Of one that it has met unprepared the driver takes the name for good.
        with pipelined_connection(pool) as conn:
            conn.execute(DOUBLED, (turn,), prepare=False)
        with pytest.raises(LogchordError):
            fail_before(pool, turn)
        assert doubled(pool, turn) == 2 * turn


@pytest.mark.parametrize("one_plan", [False, True])
def test_what_is_run_often_is_planned_as_was_said(pool: Pool, *, one_plan: bool):
    for turn in range(12):
        with pipelined_connection(pool) as conn:
            statement_deadline.limit_time(conn, 4000, one_plan=one_plan)
            conn.execute(DOUBLED, (turn,), prepare=True)
    with pool.connection() as conn:
        row = conn.execute(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements"
            " WHERE statement LIKE 'SELECT 2 *%'"
        ).fetchone()
    # Left to choose, the database plans five with their values and then all alike.
    assert row == ((0, 12) if one_plan else (12, 0))
