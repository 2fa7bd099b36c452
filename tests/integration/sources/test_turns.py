"""What works is read first; what fails is waited for by one child of a worker alone."""

import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.work import schedule
from shared.work.bulk_turn import Turn
from tests.contract.stubs.olog import OlogStub
from tests.support.fixtures.sources import TENANT
from workers.adapters.kit.stub import StubEntry
from workers.runtime.worker_kinds import kind_of
from workers.tasks import ingest

GOOD, BAD = "good", "bad"
TRIES = 3


@pytest.fixture
def ctx(make_context):
    return make_context(BROKER_URL="redis://127.0.0.1:9/0")


@pytest.fixture
def configured(runtime):
    """Sources over stubs, due at once, with their requests tried again."""

    def configured(name: str, **changes) -> OlogStub:
        stub = runtime.stub(OlogStub)
        # Of this very second it would not be listed yet.
        stub.add(StubEntry(1, datetime.now(UTC) - timedelta(minutes=1)))
        quick = {"max_retries": TRIES - 1, "retry_delay_seconds": 0.01}
        runtime.configure(name, stub, **{**quick, **changes})
        return stub

    return configured


@pytest.fixture
def due(runtime):
    def due() -> list[tuple[str, str, bool]]:
        with connection(runtime.pool) as conn:
            found = schedule.list_due_runs(conn)
        return [(one.source, one.kind, one.is_failing) for one in found]

    return due


@pytest.fixture
def bring_forward(runtime):
    """Let the tail of a source be due now."""

    def bring_forward(name: str) -> None:
        with connection(runtime.pool) as conn:
            schedule.bring_forward(conn, name, run_records.TAIL, every_seconds=3600)

    return bring_forward


@contextmanager
def turn_of_another(turn: Turn = ingest.FAILING_TURN):
    """Another child has the turn, as one that waits for a source that fails."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        assert turn.take(60)
        taken.set()
        over.wait(60)
        turn.give_back()

    holding = threading.Thread(target=hold)
    holding.start()
    assert taken.wait(10)
    try:
        yield
    finally:
        over.set()
        holding.join(10)


def test_the_history_of_a_new_source_waits_for_its_first_poll(runtime, configured, due):
    configured(GOOD)
    assert due() == [(GOOD, run_records.TAIL, False)]

    assert runtime.turn(GOOD, run_records.TAIL) is None

    assert due() == [(GOOD, run_records.BACKFILL, False)]


def test_what_fails_comes_after_what_works_whatever_its_kind(runtime, configured, due):
    configured(BAD, max_retries=0).fault("500")
    assert runtime.turn(BAD, run_records.TAIL) is not None
    configured(GOOD, require_initial_ingest=False)

    # The history was due before, and has not failed itself; it is the source that has.
    assert due() == [(GOOD, run_records.TAIL, False), (BAD, run_records.BACKFILL, True)]


def test_who_has_no_turn_leaves_what_fails_to_whoever_has_it(
    runtime, configured, bring_forward, ctx
):
    bad = configured(BAD, max_retries=0, require_initial_ingest=False)
    bad.fault("500")
    assert runtime.turn(BAD, run_records.TAIL) is not None
    bring_forward(BAD)
    good = configured(GOOD, require_initial_ingest=False)
    asked = len(bad.requests())
    listed = sum("from=" in one for one in bad.requests())

    with turn_of_another():
        ingest.poll_source(ctx, BAD, run_records.TAIL)
    assert (len(good.requests()) > 0, len(bad.requests())) == (True, asked)

    ingest.poll_source(ctx, BAD, run_records.TAIL)
    # Beside the zone in which it reads times, what is new is asked for once.
    assert sum("from=" in one for one in bad.requests()) == listed + 1
    with connection(runtime.pool) as conn:
        found = source_state.load_source_state(conn, TENANT, BAD)
    assert found is not None
    assert found.failures == 0


def test_a_request_is_tried_again_only_by_whoever_has_the_turn(configured, ctx):
    alone = configured(GOOD, require_initial_ingest=False)
    alone.fault("500", TRIES - 1)
    ingest.poll_source(ctx, GOOD, run_records.TAIL)
    # Behind its tries: in which zone it reads times, and the page.
    assert len(alone.requests()) == TRIES + 2

    beside = configured(BAD, require_initial_ingest=False)
    beside.fault("500", TRIES - 1)
    with turn_of_another():
        ingest.poll_source(ctx, BAD, run_records.TAIL)
    assert len(beside.requests()) == 1
    # The turn went back with the run that had taken it.
    with turn_of_another():
        pass


def test_half_of_the_children_walk_through_histories_and_the_others_poll(
    runtime, configured, due, ctx
):
    configured(GOOD)
    with ExitStack() as others:
        for turn in ingest.HISTORY_TURNS:
            others.enter_context(turn_of_another(turn))
        ingest.poll_source(ctx, GOOD, run_records.TAIL)
        assert due() == [(GOOD, run_records.BACKFILL, False)]
        assert len(ingest.HISTORY_TURNS) < kind_of(("ingest",)).concurrency

    ingest.poll_source(ctx, GOOD, run_records.BACKFILL)
    assert due() == []
    # The turn went back.
    with ExitStack() as others:
        for turn in ingest.HISTORY_TURNS:
            others.enter_context(turn_of_another(turn))


def test_one_child_of_the_chores_at_a_time_reads_a_source(runtime, configured, ctx):
    stub = configured(GOOD, require_initial_ingest=False)
    run_id = runtime.ask(GOOD, run_records.RECONCILE)

    with turn_of_another(ingest.READING_TURN):
        ingest.reconcile_source(ctx, GOOD)
        assert len(stub.requests()) == 0
        assert runtime.found(run_id).state == "queued"

    ingest.reconcile_source(ctx, GOOD)
    assert len(stub.requests()) > 0
    assert runtime.found(run_id).state == "done"
    # The turn went back.
    with turn_of_another(ingest.READING_TURN):
        pass
