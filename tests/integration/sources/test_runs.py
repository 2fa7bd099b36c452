"""Runs of a source over a stub of an Olog, by the real runtime and Postgres."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from shared.access.scope import Scope
from shared.errors import ConflictError, SourceUnreachableError
from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.sources.admin import admin_actions, source_overview
from shared.sources.intake.retry_items import read_again
from shared.sources.intake.store_page import Intake, LeaseLostError
from shared.sources.runs import run_steps
from shared.work import schedule
from shared.work.leases import MAX_STRIKES
from shared.work.quarantine import Which
from tests.contract.stubs.generic_json import JSONLinesStub
from tests.contract.stubs.olog import OlogStub
from tests.support.fixtures.sources import TENANT, recent_entry
from tests.support.waiting import until_blocked
from workers.adapters.kit.stub import StubEntry

NAME = "ring"


def entry(number: int, *, hours_ago: float = 0.2, **fields: Any) -> StubEntry:
    return recent_entry(number, ago=timedelta(hours=hours_ago), **fields)


@pytest.fixture
def olog(runtime):
    stub = runtime.stub(OlogStub)
    runtime.configure(NAME, stub, page_size=10)
    return stub


def test_a_history_is_taken_in_newest_first_and_counted(runtime, olog):
    ids = {olog.add(entry(n, hours_ago=24 * 20 * n)) for n in range(1, 8)}

    run = runtime.run(NAME, run_records.BACKFILL)

    assert (run.state, run.error) == ("done", None)
    assert (run.added, run.seen) == (7, run.seen)
    assert set(runtime.texts(NAME)) == ids
    with connection(runtime.pool) as conn:
        found = source_state.load_source_state(conn, TENANT, NAME)
        standing = schedule.load_standings(conn, NAME)
    assert found is not None
    assert found.complete_from == datetime(1990, 1, 1, tzinfo=UTC)
    assert standing[run_records.BACKFILL].next_run_at is None


def test_the_tail_sees_what_is_new_and_a_second_run_writes_nothing(runtime, olog):
    olog.add(entry(1))
    first = runtime.run(NAME)
    olog.add(entry(2, hours_ago=0))

    second = runtime.run(NAME)
    third = runtime.run(NAME)

    assert (first.added, second.added, third.added) == (1, 1, 0)
    assert (third.updated, third.deleted) == (0, 0)
    assert set(runtime.texts(NAME)) == {"1", "2"}


def test_killed_after_every_page_nothing_is_lost_or_doubled(runtime, olog):
    for n in range(1, 36):
        olog.add(entry(n, hours_ago=0.3))
    run_id = runtime.ask(NAME)

    turns = 0
    while True:
        runtime.turn(NAME, run_records.TAIL, seconds=0)
        turns += 1
        run = runtime.found(run_id)
        if run.ended_at is not None:
            break

    assert turns > 2
    assert run.added == 35
    assert len(runtime.texts(NAME)) == 35


@pytest.mark.requirement("P1")
def test_a_run_that_no_worker_survives_is_a_failure_of_its_source(runtime, olog):
    olog.add(entry(1))
    run_id = runtime.ask(NAME)
    for _ in range(MAX_STRIKES):
        assert run_steps.take_due_run(runtime.means, NAME, run_records.TAIL)
        runtime.let_go(NAME, run_records.TAIL)

    asked = len(olog.requests())
    runtime.turn(NAME, run_records.TAIL)

    run = runtime.found(run_id)
    assert (run.state, run.error["details"]["reason"]) == ("failed", "worker_lost")
    # It is not read a fourth time at once, and read again later.
    assert len(olog.requests()) == asked
    assert runtime.run(NAME).added == 1


def test_an_edit_that_the_tail_cannot_see_is_found_by_a_reconcile(runtime, olog):
    first = olog.add(entry(1, hours_ago=30))
    olog.add(entry(2, hours_ago=29))
    runtime.run(NAME, run_records.BACKFILL)
    olog.edit(first, text="Mended")

    run = runtime.run(NAME, run_records.RECONCILE)

    assert (run.state, run.updated, run.added) == ("done", 1, 0)
    assert runtime.texts(NAME)[first].endswith("Mended")


def test_a_limit_bounds_the_work_and_the_rest_comes_next_time(runtime, olog):
    for n in range(1, 6):
        olog.add(entry(n))

    bounded = runtime.run(NAME, limit=2)
    rest = runtime.run(NAME)

    assert (bounded.added, rest.added) == (2, 3)
    assert len(runtime.texts(NAME)) == 5


def test_a_dry_run_counts_and_stores_nothing(runtime, olog):
    olog.add(entry(1))

    run = runtime.run(NAME, dry_run=True)

    assert (run.seen, run.added) == (1, 0)
    assert runtime.texts(NAME) == {}


def test_one_bad_item_costs_itself_and_is_kept_with_its_reason(runtime, olog):
    olog.add(entry(1))
    bad = olog.add(entry(2))
    olog.add(entry(3))
    olog.malform(bad)

    run = runtime.run(NAME)

    assert (run.added, run.quarantined, run.state) == (2, 1, "done")
    with connection(runtime.pool) as conn:
        row = conn.execute(
            "SELECT external_id, error ->> 'code', raw IS NOT NULL FROM quarantine"
        ).fetchall()
    assert row == [(bad, "ingestion_failed", True)]

    with connection(runtime.pool) as conn:
        # The same payload, read by the same parser: it stays where it is.
        still = read_again(
            conn, runtime.settings, Which(TENANT), ["metadata"], limit=10
        )
    assert still == ([], 1, None)
    olog.edit(bad, text="Mended")
    mended = runtime.run(NAME)
    assert mended.added == 1
    with connection(runtime.pool) as conn:
        left = conn.execute("SELECT count(*) FROM quarantine").fetchone()
    assert left == (0,)


def test_a_failing_source_is_asked_at_once_by_settings_that_were_mended(runtime, olog):
    runtime.configure(NAME, olog)
    olog.fault("500", 1)
    assert runtime.turn(NAME, run_records.TAIL) is not None
    runtime.configure(NAME, olog)
    with connection(runtime.pool) as conn:
        assert run_records.TAIL not in _due_kinds(conn), "nothing was mended"

    runtime.configure(NAME, olog, rate_per_second=500)

    with connection(runtime.pool) as conn:
        assert run_records.TAIL in _due_kinds(conn)
    assert runtime.turn(NAME, run_records.TAIL) is None


def test_a_failing_source_is_left_alone_longer_and_longer_then_paused(runtime, olog):
    runtime.configure(NAME, olog, poll_interval_seconds=100, max_consecutive_failures=6)
    waits = []
    for _ in range(6):
        olog.fault("500", 10)
        with connection(runtime.pool) as conn:
            schedule.bring_forward(conn, NAME, run_records.TAIL, every_seconds=100)
        assert runtime.turn(NAME, run_records.TAIL) is not None
        with connection(runtime.pool) as conn:
            found = schedule.load_standings(conn, NAME)[run_records.TAIL]
            row = conn.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        assert found.next_run_at is not None
        waits.append((found.next_run_at - row[0]).total_seconds() / 100)
    olog.fault("500", 0)

    assert [round(wait) for wait in waits[:3]] == pytest.approx([1, 2, 4], abs=0.5)
    assert waits[3] == pytest.approx(8, rel=0.15)
    assert waits[4] == pytest.approx(8, rel=0.15)
    with connection(runtime.pool) as conn:
        paused = source_state.load_source_state(conn, TENANT, NAME)
        assert paused is not None
        assert paused.paused is not None
        assert paused.paused["reason"] == "failures"
        assert schedule.list_due_runs(conn) == []


def test_a_second_run_of_a_kind_is_refused_while_one_is_open(runtime, olog):
    with connection(runtime.pool) as conn:
        first = run_records.ask_for(
            conn, TENANT, NAME, run_records.TAIL, run_records.RunRequest()
        )
    with connection(runtime.pool) as conn, pytest.raises(ConflictError) as refused:
        run_records.ask_for(
            conn, TENANT, NAME, run_records.TAIL, run_records.RunRequest()
        )
    assert refused.value.details == {"run_id": str(first)}


def test_kept_payloads_are_read_again_without_asking_the_source(runtime, olog):
    for n in range(1, 4):
        olog.add(entry(n))
    runtime.run(NAME)
    asked = len(olog.requests())

    run = runtime.run(NAME, run_records.REPARSE)

    assert (run.seen, run.unchanged, run.updated) == (3, 3, 0)
    assert len(olog.requests()) == asked


def cancel(runtime, run_id: UUID) -> run_records.IngestionRun:
    with connection(runtime.pool) as conn:
        return admin_actions.cancel(
            conn, TENANT, run_id, facility_timezone="UTC", subject="tester"
        )


@pytest.mark.requirement("U02")
def test_a_run_is_cancelled_amid_its_pages_and_keeps_what_it_has_stored(
    runtime, olog, monkeypatch
):
    for number in range(1, 36):
        olog.add(entry(number))
    run_id = runtime.ask(NAME, run_records.BACKFILL)
    store = Intake.store
    cancelled: list[run_records.IngestionRun] = []

    def cancel_after_first(self, *args, **named):
        counts = store(self, *args, **named)
        if not cancelled:
            cancelled.append(cancel(runtime, run_id))
        return counts

    monkeypatch.setattr(Intake, "store", cancel_after_first)
    error = runtime.turn(NAME, run_records.BACKFILL)

    assert isinstance(error, LeaseLostError)
    run = runtime.found(run_id)
    assert (run, run.state, run.seen) == (cancelled[0], "partial", 10)
    assert run.error is not None
    assert run.error["details"]["reason"] == "cancelled"
    assert len(runtime.texts(NAME)) == 10
    assert cancel(runtime, run_id) == run
    with connection(runtime.pool) as conn:
        assert (
            schedule.load_standings(conn, NAME)[run_records.BACKFILL].next_run_at
            is None
        )
        found = source_state.load_source_state(conn, TENANT, NAME)
    assert found is not None
    # Nobody has failed, and what is asked for again begins anew.
    assert (found.failures, found.paused) == (0, None)
    assert runtime.run(NAME, run_records.BACKFILL).state == "done"
    assert len(runtime.texts(NAME)) == 35


def test_a_source_whose_first_reading_was_cancelled_says_how_it_is_begun(runtime):
    lines = runtime.stub(JSONLinesStub)
    lines.add_many([entry(1)])
    runtime.configure("lines", lines)

    def problem() -> str | None:
        with connection(runtime.pool) as conn:
            known = runtime.settings.sources
            (view,) = source_overview.list_sources(
                conn, Scope(TENANT, "anna"), known, "lines"
            )
        return view.problem

    assert problem() is None
    cancel(runtime, runtime.ask("lines", run_records.BACKFILL))
    told = problem()
    assert told is not None
    assert "logchord source trigger lines --kind backfill" in told

    runtime.run("lines", run_records.BACKFILL)
    assert problem() is None
    assert runtime.run("lines").state == "done"


def test_a_run_that_is_cancelled_while_it_begins_leaves_no_other_behind(
    runtime, olog, monkeypatch
):
    olog.add(entry(1))
    run_id = runtime.ask(NAME, run_records.RECONCILE)
    read = source_state.load_source_state
    cancelled: list[UUID] = []

    def cancel_first(*args):
        if not cancelled:
            cancelled.append(run_id)
            cancel(runtime, run_id)
        return read(*args)

    monkeypatch.setattr(source_state, "load_source_state", cancel_first)
    error = runtime.turn(NAME, run_records.RECONCILE)

    assert isinstance(error, LeaseLostError)
    assert runtime.found(run_id).state == "failed"
    with connection(runtime.pool) as conn:
        assert run_records.find_open(conn, TENANT, NAME, run_records.RECONCILE) is None
        assert (
            schedule.load_standings(conn, NAME)[run_records.RECONCILE].next_run_at
            is not None
        )
    assert runtime.texts(NAME) == {}


@pytest.mark.requirement("U02")
def test_every_page_of_a_run_under_way_says_that_it_is_alive(
    runtime, olog, monkeypatch
):
    for number in range(1, 36):
        olog.add(entry(number))
    run_id = runtime.ask(NAME, run_records.BACKFILL)
    store = Intake.store
    beats: list[tuple[datetime, datetime]] = []

    def store_and_look(self, *args, **named):
        before = runtime.found(run_id)
        counts = store(self, *args, **named)
        after = runtime.found(run_id)
        assert (before.ended_at, after.ended_at) == (None, None)
        beats.append((before.heartbeat_at, after.heartbeat_at))
        return counts

    monkeypatch.setattr(Intake, "store", store_and_look)
    assert runtime.finish(run_id).state == "done"

    assert len(beats) > 2
    assert all(before < after for before, after in beats)


def test_a_run_that_fails_after_it_was_cancelled_is_no_failure_of_its_source(
    runtime, olog, monkeypatch
):
    olog.add(entry(1))
    run_id = runtime.ask(NAME, run_records.RECONCILE)

    def cancel_and_fail(*_: object, **__: object) -> None:
        cancel(runtime, run_id)
        raise SourceUnreachableError

    monkeypatch.setattr(Intake, "store", cancel_and_fail)
    error = runtime.turn(NAME, run_records.RECONCILE)

    assert isinstance(error, SourceUnreachableError)
    run = runtime.found(run_id)
    assert run.error is not None
    assert run.error["details"]["reason"] == "cancelled"
    with connection(runtime.pool) as conn:
        found = source_state.load_source_state(conn, TENANT, NAME)
        latest = run_records.list_runs(conn, TENANT, limit=1, source=NAME)
    assert found is not None
    assert (found.failures, latest[0].id) == (0, run_id)


def test_a_run_that_is_ended_while_another_begins_it_is_not_begun(runtime, olog):
    run_id = runtime.ask(NAME, run_records.RECONCILE)

    def begin() -> run_records.IngestionRun | None:
        with connection(runtime.pool) as conn:
            return run_records.begin(conn, TENANT, NAME, run_records.RECONCILE, None)

    with ThreadPoolExecutor(1) as beside:
        with connection(runtime.pool) as conn:
            assert (
                run_records.find_open(conn, TENANT, NAME, run_records.RECONCILE)
                is not None
            )
            begun = beside.submit(begin)
            until_blocked(runtime.pool.conninfo)
            ended = admin_actions.cancel(
                conn, TENANT, run_id, facility_timezone="UTC", subject="tester"
            )
        assert begun.result(timeout=30) is None
    assert runtime.found(run_id) == ended


def test_a_run_that_meets_a_pause_goes_on_once_the_source_is_resumed(runtime, olog):
    with connection(runtime.pool) as conn:
        admin_actions.pause(conn, TENANT, NAME, subject="tester")
        schedule.bring_forward(conn, NAME, run_records.RECONCILE, every_seconds=3600)

    runtime.turn(NAME, run_records.RECONCILE)

    with connection(runtime.pool) as conn:
        assert schedule.list_due_runs(conn) == []
        admin_actions.resume(conn, TENANT, NAME)
        due = [(one.source, one.kind) for one in schedule.list_due_runs(conn)]
    assert (NAME, run_records.RECONCILE) in due


def _due_kinds(conn: Connection) -> set[str]:
    return {one.kind for one in schedule.list_due_runs(conn)}
