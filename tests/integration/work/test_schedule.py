"""Schedules: one taker, one run for all that were missed, backing off after failures.

And the scheduler, which turns what is due of the installation into rows of chores.
"""

import base64
import json

import psycopg
import pytest
import redis

from shared.errors import OpenSearchError
from shared.messaging import task_names
from shared.work import chore_records, schedule
from shared.work.chore_records import EXPIRE, RECONCILE_INDEX
from shared.work.leases import MAX_STRIKES
from shared.work.schedule import INSTALLATION
from tests.support.waiting import until
from workers.upkeep import main

SOURCE, TAIL, HOUR = "olog", "tail", 3600.0


@pytest.fixture
def app(celery_setup_app):
    """Our application over a broker that no worker reads from."""
    return celery_setup_app


@pytest.fixture
def messages(app):
    """Take every nudge for a chore: its task and the chore it names."""

    def messages() -> list[tuple[str, str]]:
        with redis.Redis.from_url(app.conf.broker_url) as client:
            found = [json.loads(item) for item in client.lrange("chores", 0, -1)]
            client.delete("chores")
        return [
            (one["headers"]["task"], json.loads(base64.b64decode(one["body"]))[0][0])
            for one in found
        ]

    return messages


def make_due(conn, source: str = SOURCE, kind: str = TAIL) -> None:
    conn.execute(
        "UPDATE source_schedule SET next_run_at = now() - interval '3 days'"
        " WHERE source = %s AND kind = %s",
        (source, kind),
    )


def seconds_until_next(conn) -> float:
    row = conn.execute(
        "SELECT extract(epoch FROM next_run_at - clock_timestamp())::float8"
        " FROM source_schedule WHERE source = %s",
        (SOURCE,),
    ).fetchone()
    return row[0]


def test_a_run_that_is_not_due_is_nobodys(committing):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)

    assert schedule.take_due_run(committing, SOURCE, TAIL) is None
    assert schedule.list_due_kinds(committing, SOURCE) == []
    assert 0.9 * HOUR - 5 < seconds_until_next(committing) < 1.1 * HOUR


@pytest.mark.requirement("P2")
def test_of_two_takers_at_once_one_gets_the_run(committing, database):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    make_due(committing)
    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        run = schedule.take_due_run(first, SOURCE, TAIL)
        first.commit()
        late = schedule.take_due_run(second, SOURCE, TAIL)
        second.commit()

    assert run is not None
    assert late is None
    assert schedule.list_due_kinds(committing, SOURCE) == []


def test_many_missed_runs_are_one_run(committing):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    make_due(committing)

    run = schedule.take_due_run(committing, SOURCE, TAIL)
    assert run is not None
    assert schedule.finish(committing, run)

    assert schedule.list_due_kinds(committing, SOURCE) == []
    assert seconds_until_next(committing) > 0.9 * HOUR - 5


def test_who_comes_after_a_death_goes_on_from_the_cursor_that_was_kept(committing):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    make_due(committing)
    dead = schedule.take_due_run(committing, SOURCE, TAIL)
    assert dead is not None
    assert schedule.store_cursor(committing, dead, {"v": 1, "done": "2026-01-01"})
    committing.execute("UPDATE source_schedule SET leased_until = now()")

    heir = schedule.take_due_run(committing, SOURCE, TAIL)

    assert heir is not None
    assert heir.cursor == {"v": 1, "done": "2026-01-01"}
    # The dead one was only slow: it keeps, renews and ends nothing any more.
    assert not schedule.store_cursor(committing, dead, {"v": 1, "done": "1999-01-01"})
    assert not schedule.renew(committing, dead)
    assert not schedule.finish(committing, dead)
    assert schedule.renew(committing, heir)
    assert schedule.finish(committing, heir)


def test_a_lease_that_is_renewed_is_not_taken_for_as_long_as_it_was_at_first(
    committing,
):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    make_due(committing)
    run = schedule.take_due_run(committing, SOURCE, TAIL, lease_seconds=60)
    assert run is not None
    committing.execute("UPDATE source_schedule SET leased_until = now()")
    assert schedule.renew(committing, run)

    assert schedule.take_due_run(committing, SOURCE, TAIL) is None
    still_ours = committing.execute(
        "SELECT leased_until > now() + interval '50 s' FROM source_schedule"
    )
    assert still_ours.fetchone() == (True,)


def test_a_failed_run_comes_back_later_and_later_with_jitter(committing):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    waits: dict[int, set[float]] = {1: set(), 12: set()}
    for failures, seen in waits.items():
        for _ in range(12):
            committing.execute(
                "UPDATE source_schedule SET failures = %s", (failures - 1,)
            )
            make_due(committing)
            run = schedule.take_due_run(committing, SOURCE, TAIL)
            assert run is not None
            schedule.finish(committing, run, OpenSearchError())
            seen.add(round(seconds_until_next(committing), 2))

    assert max(waits[1]) <= 10
    assert max(waits[12]) <= 3600
    assert max(waits[12]) > 60
    assert min(len(seen) for seen in waits.values()) > 6
    row = committing.execute(
        "SELECT failures, last_error ->> 'code' FROM source_schedule"
    ).fetchone()
    assert row == (12, "opensearch_unavailable")

    make_due(committing)
    run = schedule.take_due_run(committing, SOURCE, TAIL)
    assert run is not None
    schedule.finish(committing, run)
    row = committing.execute(
        "SELECT failures, last_error FROM source_schedule"
    ).fetchone()
    assert row == (0, None)


def test_a_shorter_period_counts_at_once_and_the_same_again_changes_nothing(committing):
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    before = seconds_until_next(committing)
    schedule.arrange(committing, SOURCE, TAIL, HOUR)
    assert abs(seconds_until_next(committing) - before) < 5

    schedule.arrange(committing, SOURCE, TAIL, 60)

    assert seconds_until_next(committing) < 67


def kinds(conn) -> list[str]:
    return [one.kind for one in chore_records.list_unfinished(conn)]


def test_what_is_due_of_the_installation_becomes_a_chore_and_no_second_one(committing):
    main.arrange_chores(committing)
    main.schedule_chores(committing)
    assert kinds(committing) == []

    for _ in range(3):
        make_due(committing, INSTALLATION, EXPIRE)
        main.schedule_chores(committing)

    assert kinds(committing) == [EXPIRE]
    assert schedule.list_due_kinds(committing, INSTALLATION) == []


def test_a_schedule_of_another_release_is_left_to_it(committing, app, messages):
    schedule.arrange(committing, INSTALLATION, "polish", HOUR)
    make_due(committing, INSTALLATION, "polish")
    chore_records.open_chore(committing, "scrub")

    main.schedule_chores(committing)
    main.nudge_chores(committing, app)

    assert kinds(committing) == ["scrub"]
    assert messages() == []


def test_a_chore_is_nudged_until_somebody_takes_it(committing, app, messages):
    chore_records.open_chore(committing, EXPIRE)
    (row,) = chore_records.list_unfinished(committing)

    # The message is lost: popped by a worker that died, or flushed away.
    for _ in range(3):
        main.nudge_chores(committing, app)
        assert messages() == [(task_names.EXPIRE, str(row.id))]

    chore = chore_records.claim(committing, EXPIRE)
    main.nudge_chores(committing, app)
    assert messages() == []
    assert chore is not None


def test_nudges_for_chores_never_exceed_two_for_each_process(committing, app, messages):
    chore_records.open_chore(committing, EXPIRE)
    chore_records.open_chore(committing, RECONCILE_INDEX)

    for _ in range(5):
        main.nudge_chores(committing, app)

    assert len(messages()) == 2


def test_without_its_broker_the_scheduler_makes_rows_all_the_same(
    committing, app, messages, celery_broker_cluster
):
    main.arrange_chores(committing)
    (server,) = celery_broker_cluster
    server.kill()

    make_due(committing, INSTALLATION, EXPIRE)
    main.schedule_chores(committing)
    main.nudge_chores(committing, app)
    assert kinds(committing) == [EXPIRE]

    server.restart()

    def nudged() -> list[tuple[str, str]]:
        main.nudge_chores(committing, app)
        return messages()

    assert until(nudged, within_seconds=10)[0][0] == task_names.EXPIRE


def test_a_chore_that_no_worker_survives_ends_with_its_reason(
    committing, app, messages
):
    chore_records.open_chore(committing, EXPIRE)
    (row,) = chore_records.list_unfinished(committing)
    for _ in range(MAX_STRIKES):
        assert chore_records.claim(committing, EXPIRE) is not None
        committing.execute("UPDATE maintenance SET leased_until = now()")

    assert chore_records.claim(committing, EXPIRE) is None
    main.nudge_chores(committing, app)

    ended = chore_records.find(committing, row.id)
    assert ended.state == "failed"
    assert ended.error is not None
    assert ended.error["code"] == "worker_lost"
    assert messages() == []
