"""What is kept of messages that no task can be made of stays bounded, and counted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg

from shared.work import refused_messages
from shared.work.refused_messages import MAX_ROWS_PER_QUEUE
from tests.support.waiting import until

QUEUE = "enhance.embed"


def record(conn, *tasks: str) -> None:
    found = [
        refused_messages.refused(QUEUE, task, "", "names an unknown task")
        for task in tasks
    ]
    refused_messages.record(conn, [(one, 1) for one in found])


def test_two_processes_never_both_take_the_last_row_of_a_queue(database):
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(database) as first,
        psycopg.connect(database) as second,
    ):
        record(first, *(f"task {number}" for number in range(MAX_ROWS_PER_QUEUE - 1)))
        first.commit()
        record(first, "the last")
        other = pool.submit(record, second, "one too many")
        until(lambda: waits(database) or other.done(), within_seconds=20)
        first.commit()
        other.result(20)
        second.commit()
        row = first.execute(
            "SELECT count(*), sum(times),"
            "       count(*) FILTER (WHERE excerpt = 'one too many')"
            "  FROM quarantine WHERE stage = %s",
            (f"message:{QUEUE}",),
        ).fetchone()
        first.commit()
        record(first, "yet another")
        again = first.execute("SELECT count(*), sum(times) FROM quarantine").fetchone()
    total = MAX_ROWS_PER_QUEUE + 1
    assert row == (total, total, 1)
    assert again == (total, total + 1)


def waits(database: str) -> bool:
    with psycopg.connect(database) as conn:
        found = conn.execute(
            "SELECT 1 FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return found.fetchone() is not None
