"""What the driver really raises, as our own errors."""

import psycopg
import pytest

from shared.errors import (
    Category,
    DatabaseConnectionError,
    DatabaseQueryError,
    Severity,
)
from shared.postgres.pool import (
    connect,
    connection,
    make_pool,
    translate_database_errors,
)
from tests.support.waiting import until


@pytest.mark.requirement("S2-52", "S2-60")
def test_a_missing_table_says_to_migrate(database):
    with connect(database, application="test") as conn:
        with pytest.raises(DatabaseQueryError) as caught, translate_database_errors():
            conn.execute("SELECT 1 FROM no_such_table")
        conn.rollback()
    assert caught.value.error_code == "schema_missing"
    assert "`logchord migrate`" in caught.value.message
    assert caught.value.category is Category.DATABASE
    assert caught.value.severity is Severity.CRITICAL
    assert not caught.value.retriable


def test_the_row_that_a_constraint_refuses_is_not_quoted(database):
    with connect(database, application="test") as conn:
        conn.execute("CREATE TEMP TABLE note (text text CHECK (text <> 'secret text'))")
        with pytest.raises(DatabaseQueryError) as caught, translate_database_errors():
            conn.execute("INSERT INTO note VALUES ('secret text')")
        conn.rollback()
    assert "secret text" in str(caught.value.__cause__)
    assert "secret text" not in (caught.value.technical or "")
    assert "23514" in (caught.value.technical or "")


@pytest.mark.requirement("S2-60")
def test_a_statement_that_takes_too_long_may_be_tried_again(database):
    with connect(database, application="test") as conn:
        conn.execute("SET statement_timeout = '20ms'")
        with pytest.raises(DatabaseQueryError) as caught, translate_database_errors():
            conn.execute("SELECT pg_sleep(5)")
        conn.rollback()
    assert caught.value.retriable
    assert caught.value.severity is Severity.RETRIABLE
    assert caught.value.error_code == "database_query_retry"


def test_nul_and_a_lone_surrogate_are_never_tried_again(database):
    with connect(database, application="test") as conn:
        for text in ("a\x00b", "a\ud800b"):
            with (
                pytest.raises(DatabaseQueryError) as caught,
                translate_database_errors(),
            ):
                conn.execute("SELECT %s::text", (text,))
            assert not caught.value.retriable
            conn.rollback()


def test_a_connection_that_the_server_ended_may_be_tried_again(database):
    with (
        connect(database, application="test") as victim,
        connect(database, application="test", autocommit=True) as other,
    ):
        other.execute(
            "SELECT pg_terminate_backend(%s)", (victim.info.backend_pid,)
        ).fetchone()
        with pytest.raises(DatabaseQueryError) as caught, translate_database_errors():
            victim.execute("SELECT 1")
    assert caught.value.retriable


def test_a_connection_ended_since_it_was_given_back_is_replaced_before_it_is_used(
    database,
):
    pool = make_pool(database, application="test", size=1)
    alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    with pool, connect(database, application="test", autocommit=True) as other:
        for _ in range(3):
            with connection(pool) as conn:
                pid = conn.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
            until(
                lambda pid=pid: other.execute(alive, (pid,)).fetchone() == (0,),
                within_seconds=5,
            )
            with connection(pool) as conn:
                assert conn.execute("SELECT 1").fetchone() == (1,)
                assert conn.info.backend_pid != pid


def test_a_transaction_that_a_frozen_process_left_open_may_be_tried_again(database):
    with (
        connect(database, application="test") as frozen,
        connect(database, application="test", autocommit=True) as other,
    ):
        frozen.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
        alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        pid = frozen.info.backend_pid
        until(lambda: other.execute(alive, (pid,)).fetchone() == (0,), within_seconds=5)
        with pytest.raises(DatabaseQueryError) as caught, translate_database_errors():
            frozen.execute("SELECT 1")
    assert "25P03" in (caught.value.technical or "")
    assert caught.value.retriable


@pytest.mark.requirement("S2-59")
def test_a_server_that_is_not_there_says_how_to_start_one(place):
    url = f"postgresql://logchord:planted-password@localhost/logchord?host={place.home}"
    with pytest.raises(DatabaseConnectionError) as caught:
        connect(url, application="test")
    assert isinstance(caught.value.__cause__, psycopg.OperationalError)
    assert "`logchord up`" in caught.value.message
    assert caught.value.retriable
    assert "planted" not in f"{caught.value.message} {caught.value.technical}"
