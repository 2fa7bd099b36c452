"""A dry run reads and counts as any other, and nothing is otherwise after it."""

from typing import Any

import pytest

from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.work import schedule
from tests.contract.stubs.als import AlsStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.generic_json import JSONLinesStub
from tests.support.fixtures.sources import TENANT, recent_entry

NAME = "ring"


def standing(runtime, kind: str) -> tuple[Any, ...]:
    """What a dry run has to leave alone: the schedule's row, and how far all is."""
    with connection(runtime.pool) as conn:
        row = schedule.load_standings(conn, NAME)[kind]
        found = source_state.load_source_state(conn, TENANT, NAME)
    assert found is not None
    rests = row.next_run_at is None
    return row.cursor, rests, found.complete_from, found.complete_to, found.gaps


def test_a_dry_run_of_many_turns_goes_on_where_it_was(runtime):
    stub = runtime.stub(JSONLinesStub)
    stub.add_many([recent_entry(number) for number in range(1, 36)])
    runtime.configure(NAME, stub, page_size=10)
    before = standing(runtime, run_records.TAIL)
    run_id = runtime.ask(NAME, dry_run=True)

    turns = 0
    while runtime.found(run_id).ended_at is None:
        runtime.turn(NAME, run_records.TAIL, seconds=0)
        turns += 1
        assert turns < 20

    run = runtime.found(run_id)
    assert turns > 2
    assert (run.state, run.seen, run.added) == ("done", 35, 0)
    assert runtime.texts(NAME) == {}
    assert runtime.nudged == []
    assert standing(runtime, run_records.TAIL) == before
    assert runtime.run(NAME).added == 35


def test_a_dry_run_of_the_history_does_not_stand_for_it(runtime):
    stub = runtime.stub(JSONLinesStub)
    stub.add_many([recent_entry(number) for number in range(1, 6)])
    runtime.configure(NAME, stub)
    before = standing(runtime, run_records.BACKFILL)

    run = runtime.run(NAME, run_records.BACKFILL, dry_run=True)

    assert (run.state, run.seen) == ("done", 5)
    assert standing(runtime, run_records.BACKFILL) == before
    # The first load, which was due, still is.
    with connection(runtime.pool) as conn:
        due = schedule.list_due_runs(conn)
    assert (NAME, run_records.BACKFILL) in {(one.source, one.kind) for one in due}
    runtime.turn(NAME, run_records.BACKFILL)
    assert len(runtime.texts(NAME)) == 5


@pytest.mark.parametrize("make", [ElogServerStub, AlsStub])
def test_a_dry_comparison_counts_what_is_gone_and_deletes_nothing(runtime, make):
    stub = runtime.stub(make)
    ids = [stub.add(recent_entry(number)) for number in range(1, 8)]
    runtime.configure(NAME, stub)
    runtime.run(NAME, run_records.BACKFILL)
    for external_id in ids[:3]:
        stub.delete(external_id)
    before = standing(runtime, run_records.RECONCILE)

    dry = runtime.run(NAME, run_records.RECONCILE, dry_run=True)

    assert (dry.state, dry.deleted) == ("done", 3)
    assert set(runtime.texts(NAME)) == set(ids)
    assert standing(runtime, run_records.RECONCILE) == before
    assert runtime.run(NAME, run_records.RECONCILE).deleted == 3
    assert set(runtime.texts(NAME)) == set(ids[3:])


def test_a_dry_run_that_fails_leaves_what_rests_at_rest(runtime):
    stub = runtime.stub(AlsStub)
    stub.add(recent_entry(1))
    runtime.configure(NAME, stub)
    runtime.run(NAME, run_records.BACKFILL)
    before = standing(runtime, run_records.BACKFILL)
    stub.fault("500", 50)

    run = runtime.run(NAME, run_records.BACKFILL, dry_run=True)

    assert run.state == "failed"
    assert standing(runtime, run_records.BACKFILL) == before
