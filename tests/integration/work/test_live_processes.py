"""Who is alive stands in Postgres, so it is known with the broker away too."""

import psycopg
import pytest

from shared.work import live_processes
from shared.work.live_processes import Identity, Reporter
from tests.support.waiting import eventually, until


@pytest.fixture
def reporting(database, monkeypatch):
    monkeypatch.setattr(live_processes, "REPORT_SECONDS", 0.1)
    started: list[Reporter] = []

    def report(kind: str = "embed") -> Reporter:
        identity = Identity(kind, ["enhance.embed"], 4711, "host", "0.1")
        reporter = Reporter(database, identity)
        reporter.start()
        started.append(reporter)
        return reporter

    yield report
    for reporter in started:
        reporter.stop()


def listing(database):
    with psycopg.connect(database) as conn:
        return live_processes.list_processes(conn)


def test_a_process_is_listed_while_it_reports_and_gone_when_it_leaves(
    reporting, database
):
    reporter = reporting()

    (one,) = until(lambda: listing(database), within_seconds=10)
    assert (one.kind, one.queues, one.pid, one.host, one.version, one.stale) == (
        *("embed", ["enhance.embed"], 4711, "host", "0.1", False),
    )
    until(lambda: listing(database)[0].seen_at > one.seen_at, within_seconds=10)
    reporter.stop()
    assert listing(database) == []


def test_a_process_goes_on_reporting_when_its_connection_was_cut(reporting, database):
    reporting()
    (one,) = until(lambda: listing(database), within_seconds=10)

    with psycopg.connect(database, autocommit=True) as conn:
        cut = conn.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name LIKE 'logchord report embed %'"
            "   AND datname = current_database()"
        ).fetchone()
        (at,) = conn.execute("SELECT clock_timestamp()").fetchone() or (None,)

    assert cut == (1,)
    until(lambda: listing(database)[0].seen_at > at, within_seconds=10)
    assert [again.id for again in listing(database)] == [one.id]


@pytest.mark.parametrize(("age", "stale"), [("14 s", False), ("16 s", True)])
def test_a_process_is_stale_after_15_s_by_the_databases_clock(conn, age, stale):
    conn.execute(
        "INSERT INTO worker_process (id, kind, queues, pid, host, version, seen_at)"
        " VALUES (uuidv7(), 'embed', '{}', 1, 'h', '1', now() - %s::interval)",
        (age,),
    )

    assert [one.stale for one in live_processes.list_processes(conn)] == [stale]


def test_a_process_that_died_is_forgotten_after_an_hour(reporting, database):
    with psycopg.connect(database) as conn:
        conn.execute(
            "INSERT INTO worker_process (id, kind, queues, pid, host, version, seen_at)"
            " SELECT uuidv7(), 'dead', '{}', 1, 'h', '1', now() - age"
            "   FROM unnest('{59 min,61 min}'::interval[]) AS age"
        )
    assert [one.kind for one in listing(database)] == ["dead"]

    reporting()

    def kept():
        with psycopg.connect(database) as conn:
            rows = conn.execute("SELECT kind FROM worker_process ORDER BY 1").fetchall()
        return [row[0] for row in rows]

    assert eventually(kept, equals=["dead", "embed"], within_seconds=10)
