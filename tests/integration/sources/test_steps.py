"""What a death in the middle of a run, and a listing of everything, may cost."""

from datetime import timedelta
from uuid import UUID

import pytest

from shared.entries.saving import save as entries
from shared.entries.tombstones import RETENTION
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from shared.sources.intake.store_page import LeaseLostError
from shared.sources.run_records import IngestionRun
from shared.sources.runs import run_steps
from shared.sources.runs.kinds import backfill
from shared.work import schedule
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.generic_json import JSONLinesStub
from tests.support.fixtures.sources import TENANT, recent_entry
from workers.adapters.kit.stub import StubEntry
from workers.runtime.task import attempt

NAME = "ring"


def entry(number: int, *, days_ago: float) -> StubEntry:
    return recent_entry(number, ago=timedelta(days=days_ago))


@pytest.fixture
def elog(runtime):
    stub = runtime.stub(ElogServerStub)
    for number in range(1, 31):
        stub.add(entry(number, days_ago=1 + 30 * (30 - number)))
    runtime.configure(NAME, stub)
    return stub


def asked(elog: ElogServerStub, mark: str) -> list[str]:
    return [one for one in elog.requests() if mark in one]


def test_a_death_between_two_windows_costs_no_request_of_the_first(
    runtime, elog, monkeypatch
):
    really = backfill._next_place

    def die(*_: object, **__: object) -> None:
        monkeypatch.setattr(backfill, "_next_place", really)
        raise LeaseLostError

    monkeypatch.setattr(backfill, "_next_place", die)
    run_id = runtime.ask(NAME, run_records.BACKFILL)
    assert isinstance(runtime.turn(NAME, run_records.BACKFILL), LeaseLostError)
    before = asked(elog, "mode=Raw")
    assert before

    runtime.let_go(NAME, run_records.BACKFILL)

    assert runtime.finish(run_id).state == "done"
    after = asked(elog, "mode=Raw")[len(before) :]
    assert after
    assert set(after) & set(before) == set()
    assert len(runtime.texts(NAME)) == 30


def test_what_takes_more_memory_than_there_is_says_so_in_the_run(runtime, elog):
    run_id = runtime.ask(NAME)
    taken = run_steps.take_due_run(runtime.means, NAME, run_records.TAIL)
    assert taken is not None
    # More than any machine has, as of a source that sends items without end.
    taken.settle(attempt(bytearray, 1 << 60))

    error = runtime.found(run_id).error
    assert error["code"] == "ingestion_failed"
    assert "memory" in error["message"]
    assert "`page_size`" in error["message"]


def test_a_comparison_leaves_the_history_to_the_backfill(runtime, elog):
    run_id = runtime.ask(NAME, run_records.BACKFILL)
    runtime.turn(NAME, run_records.BACKFILL, seconds=0)
    edited = next(iter(runtime.texts(NAME)))
    elog.edit(edited, text="Mended")

    run = runtime.run(NAME, run_records.RECONCILE)

    # One request brings many of those that are unknown, if they come in its way.
    assert (run.state, run.added, run.updated) == ("done", 0, 1)
    assert len(asked(elog, "cmd=Download")) == 1
    runtime.finish(run_id)
    assert len(runtime.texts(NAME)) == 30


@pytest.mark.requirement("U02")
def test_a_history_that_was_cancelled_comes_whole_once_asked_for_and_not_one_by_one(
    runtime, elog
):
    def cancel(run_id: UUID) -> bool:
        with connection(runtime.pool) as conn:
            admin_actions.cancel(
                conn, TENANT, run_id, facility_timezone="UTC", subject="tester"
            )
            return schedule.load_standings(conn, NAME)[
                run_records.BACKFILL
            ].is_cancelled

    run_id = runtime.ask(NAME, run_records.BACKFILL)
    runtime.turn(NAME, run_records.BACKFILL, seconds=0)
    assert cancel(run_id)
    known = len(runtime.texts(NAME))
    elog.add(entry(31, days_ago=0))

    assert runtime.run(NAME, run_records.BACKFILL, dry_run=True).state == "done"
    for kind in (run_records.TAIL, run_records.RECONCILE, run_records.TAIL):
        assert runtime.run(NAME, kind).state == "done"

    fetched = {one.split("?")[0] for one in asked(elog, "cmd=Download")}
    assert fetched <= {"GET /Operations/30", "GET /Operations/31"}, fetched
    assert len(runtime.texts(NAME)) == known + 1 < 31
    assert runtime.run(NAME, run_records.BACKFILL).state == "done"
    assert len(runtime.texts(NAME)) == 31
    # It is here by now, whatever becomes of the next walk over it.
    assert not cancel(runtime.ask(NAME, run_records.BACKFILL))


def test_what_is_past_its_days_is_not_fetched_at_every_poll(runtime, elog):
    runtime.run(NAME, run_records.BACKFILL)
    # The last message of each answer, which may be cut off, is fetched once more.
    runtime.run(NAME)
    with connection(runtime.pool) as conn:
        entries.tombstone_many(
            conn, TENANT, NAME, ["Operations/1"], reason=RETENTION, stages=()
        )
    fetched = len(asked(elog, "cmd=Download"))

    run = runtime.run(NAME)

    assert (run.state, run.seen) == ("done", 0)
    assert len(asked(elog, "cmd=Download")) == fetched


def test_what_is_asked_for_during_the_first_walk_is_that_walk(runtime):
    stub = runtime.stub(JSONLinesStub)
    stub.add_many([entry(number, days_ago=number) for number in range(1, 6)])
    runtime.configure("file", stub)

    def ask() -> IngestionRun:
        with connection(runtime.pool) as conn:
            run_id = admin_actions.ask(
                conn, TENANT, "file", run_records.TAIL, run_records.RunRequest()
            )
        return runtime.found(run_id)

    first, again = ask(), ask()
    assert first.kind == run_records.BACKFILL
    assert again.id == first.id
    assert runtime.finish(first.id).added == 5

    after = ask()
    assert after.kind == run_records.TAIL
    assert runtime.finish(after.id).seen == 0
