"""What a listing lacks goes only if the listing is whole, however long it takes."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from shared.postgres.pool import connection
from shared.sources import run_records, source_state
from shared.sources.intake.store_page import LeaseLostError
from shared.sources.runs.kinds import prune
from shared.work import schedule
from tests.contract.stubs.generic_rest import RestStub
from tests.contract.stubs.jlab import JLabStub
from tests.support.fixtures.sources import TENANT, Runtime
from workers.adapters.kit.stub import StubEntry
from workers.adapters.rest.generic_rest import GenericREST

NAME = "ring"


def fill(runtime: Runtime, *, entries: int = 12, **more: Any) -> RestStub:
    stub = runtime.stub(partial(RestStub, **more))
    now = datetime.now(UTC).replace(microsecond=0)
    for number in range(1, entries + 1):
        time = now - timedelta(hours=entries - number + 1)
        stub.add(StubEntry(number, time, f"Title {number}", f"Text {number}"))
    runtime.configure(NAME, stub, page_size=2)
    runtime.run(NAME)
    runtime.run(NAME, run_records.BACKFILL)
    assert len(runtime.texts(NAME)) == entries
    return stub


def degraded(runtime: Runtime) -> dict[str, Any]:
    with connection(runtime.pool) as conn:
        state = source_state.load_source_state(conn, TENANT, NAME)
    assert state is not None
    return state.degraded or {}


def test_what_scrolls_off_a_list_of_the_newest_stays(runtime: Runtime) -> None:
    stub = fill(runtime, style="none", total_pointer=None)
    stub.delete("e-1")
    runtime.run(NAME, run_records.RECONCILE)
    assert "e-1" in runtime.texts(NAME)


def test_what_is_absent_from_a_list_that_holds_everything_goes(runtime) -> None:
    stub = fill(runtime, style="none", total_pointer=None, complete_snapshot=True)
    stub.delete("e-1")
    runtime.run(NAME, run_records.RECONCILE)
    assert len(runtime.texts(NAME)) == 11


def test_a_comparison_that_is_asked_for_looks_for_deletions_each_time(runtime) -> None:
    stub = fill(runtime, style="offset")
    for number in (3, 7):
        stub.delete(f"e-{number}")
        assert runtime.run(NAME, run_records.RECONCILE).deleted == 1
    stub.delete("e-9")
    with connection(runtime.pool) as conn:
        schedule.bring_forward(
            conn, NAME, run_records.RECONCILE, every_seconds=60, anew=False
        )
    runtime.turn(NAME, run_records.RECONCILE)
    assert "e-9" in runtime.texts(NAME), "by itself it looks for them once a day"


@pytest.mark.requirement("ADP10")
def test_a_list_with_fewer_than_it_counts_deletes_nothing_and_is_told(runtime) -> None:
    stub = fill(runtime, style="none")
    stub.fault("cut_listing")
    runtime.run(NAME, run_records.RECONCILE)
    assert len(runtime.texts(NAME)) == 12
    told = degraded(runtime)
    assert told["code"] == "prune_blocked"
    assert told["message"].startswith("The source lists fewer entries than it counts")


@pytest.mark.requirement("ADP9")
def test_a_second_listing_goes_on_where_its_turn_ended(runtime, monkeypatch) -> None:
    stub = fill(runtime, style="offset")
    stub.delete("e-3")
    pages, turns = 0, 0
    really = GenericREST.pages

    def die_at_times(self: GenericREST, *given: Any) -> Any:
        nonlocal pages
        for page in really(self, *given):
            pages += 1
            if pages % 4 == 0:
                raise LeaseLostError
            yield page

    monkeypatch.setattr(GenericREST, "pages", die_at_times)
    run_id = runtime.ask(NAME, run_records.RECONCILE)
    while runtime.found(run_id).ended_at is None:
        turns += 1
        assert turns < 10
        runtime.turn(NAME, run_records.RECONCILE)
        runtime.let_go(NAME, run_records.RECONCILE)
    assert turns > 2
    assert sorted(runtime.texts(NAME)) == sorted(
        f"e-{number}" for number in range(1, 13) if number != 3
    )


def test_what_can_be_asked_for_is_asked_for_once_and_not_listed_again(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = fill(
        runtime, style="offset", item_path="/entries/{id}", item_pointer="/entry"
    )
    monkeypatch.setattr(prune, "_AT_ONCE", 1)
    # Out of the list, and still there: a comment whose parent is out of the window.
    stub.unlisted = frozenset({"e-2", "e-5", "e-8"})
    stub.delete("e-3")
    asked: list[str] = []
    really = GenericREST.fetch

    def fetch_some(self: GenericREST, external_id: str) -> Any:
        asked.append(external_id)
        if len(asked) == 2:
            raise LeaseLostError
        return really(self, external_id)

    monkeypatch.setattr(GenericREST, "fetch", fetch_some)
    run_id = runtime.ask(NAME, run_records.RECONCILE)
    while runtime.found(run_id).ended_at is None:
        runtime.turn(NAME, run_records.RECONCILE)
        runtime.let_go(NAME, run_records.RECONCILE)
    assert asked == ["e-2", "e-3", "e-3", "e-5", "e-8"]
    assert set(runtime.texts(NAME)) == {f"e-{n}" for n in range(1, 13)} - {"e-3"}


def test_new_comments_of_an_old_entry_block_no_deletion(runtime: Runtime) -> None:
    stub = runtime.stub(JLabStub)
    stub.counts_comments = True
    now = datetime.now(UTC).replace(microsecond=0)
    stub.add(StubEntry(1, now - timedelta(days=30), "Old", "Old"))
    stub.add(StubEntry(2, now - timedelta(days=1), "New", "New"))
    for number in range(3, 28):
        time = now - timedelta(hours=number)
        stub.add(StubEntry(number, time, "Re: Old", f"Text {number}", reply_to=1))
    runtime.configure(NAME, stub)
    runtime.run(NAME)
    runtime.run(NAME, run_records.BACKFILL)
    before = runtime.texts(NAME)
    assert len(before) == 27
    gone = next(one for one in before if "#c:" in one)
    stub.delete(gone)
    runtime.run(NAME, run_records.RECONCILE)
    assert degraded(runtime) == {}
    assert set(runtime.texts(NAME)) == set(before) - {gone}
