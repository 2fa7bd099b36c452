"""Migrations: applied in order, once, one runner at a time, never edited afterwards."""

import secrets
import threading
from pathlib import Path

import psycopg
import pytest

from shared import migrations
from shared.errors import ConfigurationError, DatabaseQueryError
from shared.migrations import list_pending, migrate
from tests.support.fixtures.servers import create_database, drop_database, of_database
from tests.support.waiting import until


@pytest.fixture
def empty(postgres):
    name = f"empty_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    yield of_database(postgres.url, name)
    drop_database(postgres.url, name)


@pytest.fixture
def folder(tmp_path: Path):
    def write(**files: str) -> Path:
        for name, sql in files.items():
            (tmp_path / f"{name}.sql").write_text(sql, "utf-8")
        return tmp_path

    return write


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        ).fetchall()
    return {row[0] for row in rows}


def test_an_empty_database_comes_to_the_head_and_again_nothing_happens(empty):
    names = [one.name for one in migrations.load()]

    assert migrate(empty, dry_run=True) == names
    assert "entry" not in tables(empty)
    assert migrate(empty) == names
    assert {"entry", "work", "job", "schema_migration"} <= tables(empty)
    assert migrate(empty) == []
    assert migrate(empty, dry_run=True) == []


def test_only_the_phase_that_was_asked_for_is_applied(empty, folder):
    files = folder(
        **{
            "0001_pre_create_a": "CREATE TABLE a (n integer);",
            "0002_post_create_b": "CREATE TABLE b (n integer);",
            "0003_pre_create_c": "CREATE TABLE c (n integer);",
        }
    )

    before = migrate(empty, phase="pre", folder=files)
    after = migrate(empty, phase="post", folder=files)

    assert before == ["0001_pre_create_a.sql", "0003_pre_create_c.sql"]
    assert after == ["0002_post_create_b.sql"]


def test_a_file_that_was_changed_after_it_was_applied_is_refused(empty, folder):
    files = folder(**{"0001_pre_create_a": "CREATE TABLE a (n integer);"})
    migrate(empty, folder=files)
    folder(
        **{
            "0001_pre_create_a": "CREATE TABLE a (n bigint);",
            "0002_pre_create_b": "CREATE TABLE b (n integer);",
        }
    )

    for dry_run in (True, False):
        with pytest.raises(DatabaseQueryError, match="0001_pre_create_a"):
            migrate(empty, folder=files, dry_run=dry_run)
    assert "b" not in tables(empty)


def test_a_file_that_fails_leaves_nothing_behind_and_is_tried_again(empty, folder):
    files = folder(
        **{
            "0001_pre_create_a": "CREATE TABLE a (n integer);",
            "0002_pre_create_b": "CREATE TABLE b (n integer); SELECT 1 / 0;",
        }
    )
    with pytest.raises(DatabaseQueryError):
        migrate(empty, folder=files)
    assert "b" not in tables(empty)

    folder(**{"0002_pre_create_b": "CREATE TABLE b (n integer);"})

    assert migrate(empty, folder=files) == ["0002_pre_create_b.sql"]


def test_a_file_without_a_transaction_runs_statement_by_statement(empty, folder):
    files = folder(
        **{
            "0001_pre_create_a": "CREATE TABLE a (n integer);",
            "0002_pre_index_a": "-- no transaction\n"
            "DROP INDEX CONCURRENTLY IF EXISTS a_n; -- an INVALID one; it may be left\n"
            "CREATE INDEX CONCURRENTLY a_n ON a (n);\n-- serves: nothing\n",
        }
    )

    assert len(migrate(empty, folder=files)) == 2
    assert "a_n" in tables(empty)


def test_a_migration_that_waits_for_a_lock_gives_up_and_can_be_run_again(empty, folder):
    files = folder(**{"0001_pre_create_a": "CREATE TABLE a (n integer);"})
    migrate(empty, folder=files)
    files = folder(**{"0002_pre_widen_a": "ALTER TABLE a ALTER n TYPE bigint;"})

    with psycopg.connect(empty) as other:
        other.execute("SELECT n FROM a")
        with pytest.raises(DatabaseQueryError) as refused:
            migrate(empty, folder=files)

    assert refused.value.retriable
    assert migrate(empty, folder=files) == ["0002_pre_widen_a.sql"]


def test_of_two_runners_at_once_one_waits_and_finds_nothing_to_do(empty, folder):
    files = folder(**{"0001_pre_create_a": "CREATE TABLE a (n integer);"})
    begun, go_on = threading.Event(), threading.Event()
    done: list[list[str]] = []

    def slow() -> None:
        def announce(_: str) -> None:
            begun.set()
            go_on.wait(20)

        done.append(migrate(empty, folder=files, announce=announce))

    def second() -> None:
        done.append(migrate(empty, folder=files))

    threads = [threading.Thread(target=slow), threading.Thread(target=second)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    until(lambda: waits_for_the_lock(empty), within_seconds=20)
    go_on.set()
    for thread in threads:
        thread.join(20)

    assert done == [["0001_pre_create_a.sql"], []]


def waits_for_the_lock(url: str) -> bool:
    """Two connect, and neither is blocked: a snapshot held would stop index builds."""
    with psycopg.connect(url) as conn:
        row = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock')"
            "  FROM pg_stat_activity WHERE application_name LIKE 'logchord migrate %'"
            "   AND datname = current_database()"
        ).fetchone()
    return row == (2, 0)


@pytest.mark.parametrize("name", ["0001_create_a", "1_pre_a", "0001_pre_Create", "a"])
def test_a_file_with_an_odd_name_is_refused(folder, name):
    files = folder(**{name: "SELECT 1;"})

    with pytest.raises(ConfigurationError, match=name):
        migrations.load(files)


def test_two_files_of_one_number_are_refused(folder):
    files = folder(**{"0001_pre_a": "SELECT 1;", "0001_post_b": "SELECT 1;"})

    with pytest.raises(ConfigurationError, match="same number"):
        migrations.load(files)


def test_a_database_without_a_ledger_has_everything_pending(empty):
    with psycopg.connect(empty) as conn:
        assert list_pending(conn) == migrations.load()
