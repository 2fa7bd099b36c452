"""What an ELOG tells of itself over several polls: deletions, refusals, failures."""

from datetime import timedelta

import pytest

from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.admin import admin_actions
from workers.adapters.kit.keeping import TENANT, Keeping, keeping
from workers.adapters.kit.stub import StubEntry


@pytest.fixture(params=["elog_http", "elog_files"])
def elog(request, kit_subjects, kit_pool):
    subject = next(one for one in kit_subjects if one.name == request.param)
    with keeping(subject, kit_pool) as one:
        yield one


def _poll(elog: Keeping) -> None:
    run = elog.run()
    assert run.error is None, run.error


def test_a_deletion_arrives_at_the_second_poll_with_one_listing_each(elog):
    kept, gone, *_ = elog.add(*elog.some(30))
    elog.load()
    elog.stub.delete(gone)
    before = len(elog.stub.requests())
    _poll(elog)
    assert gone in elog.live(), "one listing may be wrong"
    _poll(elog)
    assert gone not in elog.live()
    assert kept in elog.live()
    asked = elog.stub.requests()[before:]
    assert sum("GetMD5" in one for one in asked) <= 2
    assert len(asked) <= 4


@pytest.mark.parametrize("elog", ["elog_http"], indirect=True)
@pytest.mark.parametrize("entries", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_poll_at_rest_lists_each_logbook_once_and_asks_nothing_else(elog, entries):
    for number in range(entries):
        book = ("Operations", "RF")[number % 2]
        when = elog.recent - timedelta(minutes=number)
        elog.stub.add(StubEntry(number + 1, when, text=f"Note {number}", logbook=book))
    elog.load()
    assert len(elog.live()) == entries
    for _ in range(3):
        before = len(elog.stub.requests())
        _poll(elog)
        asked = elog.stub.requests()[before:]
        assert sorted(asked) == ["GET /Operations/?cmd=GetMD5", "GET /RF/?cmd=GetMD5"]


@pytest.mark.requirement("ADP3")
@pytest.mark.parametrize("elog", ["elog_http"], indirect=True)
def test_a_message_that_cannot_be_read_is_asked_for_once_until_it_is_edited(elog):
    first, *_ = elog.add(*elog.some(3))
    elog.stub.malform(first)
    elog.load()
    _poll(elog)
    assert len(elog.live()) == 2
    before = len(elog.stub.requests())
    _poll(elog)
    asked = elog.stub.requests()[before:]
    assert all("GetMD5" in one for one in asked), asked
    elog.stub.edit(first, text="Mended")
    _poll(elog)
    assert first in elog.live()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("elog", ["elog_files"], indirect=True)
def test_a_hundred_thousand_messages_of_fifteen_days_fit_into_a_worker(elog):
    text = "Cavity 7 tripped at 12 mA; vacuum 3e-9 mbar. " * 20
    for number in range(1, 100_001):
        when = elog.recent - timedelta(days=number % 15, seconds=number // 15)
        elog.stub.add(StubEntry(number, when, f"Note {number}", text))
    # A day of the server's own zone may begin in another.
    assert len(list(elog.stub.folder.rglob("*a.log"))) in {15, 16}
    kinds = (run_records.BACKFILL, run_records.TAIL)
    runs = elog.run_bounded(*kinds, seconds=600)
    assert [run.error for run in runs] == [None, None]
    elog.stub.delete("Operations/50000")
    for run in elog.run_bounded(run_records.TAIL) + elog.run_bounded(run_records.TAIL):
        assert run.error is None, run.error
    live = elog.live()
    assert len(live) == 99_999
    assert "Operations/50000" not in live


def test_a_message_that_comes_back_in_time_was_never_away(elog):
    entries = elog.some(30)
    entry, away = entries[1], elog.add(*entries)[1]
    elog.load()
    elog.stub.delete(away)
    _poll(elog)
    elog.stub.add(entry)
    _poll(elog)
    elog.stub.delete(away)
    _poll(elog)
    assert away in elog.live()
    with elog.stock() as stock:
        assert stock.entry(away).revision == 1


@pytest.mark.requirement("U01")
@pytest.mark.parametrize("elog", ["elog_http"], indirect=True)
def test_half_a_listing_deletes_nothing_at_any_poll(elog):
    ids = set(elog.add(*elog.some(60)))
    elog.load()
    elog.stub.fault("cut_listing", times=2)
    _poll(elog)
    _poll(elog)
    assert elog.live() == ids
    assert elog.standing().degraded["code"] == "prune_blocked"
    _poll(elog)
    assert elog.standing().degraded is None


@pytest.mark.requirement("U01")
def test_the_reconcile_looks_twice_by_itself(elog):
    gone, *_ = elog.add(*elog.some(30))
    elog.load()
    elog.stub.delete(gone)
    run = elog.run(run_records.RECONCILE)
    assert (run.error, run.deleted) == (None, 1)
    assert gone not in elog.live()


@pytest.mark.parametrize("elog", ["elog_http"], indirect=True)
def test_of_a_logbook_that_wants_a_login_by_now_nothing_is_deleted(elog):
    kept, gone = elog.add(*elog.some(2))
    (guarded,) = elog.add(elog.fresh(logbook="RF"))
    elog.load()
    elog.stub.guard("RF")
    elog.stub.delete(gone)
    _poll(elog)
    _poll(elog)
    assert elog.live() == {kept, guarded}
    standing = elog.standing()
    assert standing.degraded["code"] == "partly_unread"
    assert "for RF" in standing.degraded["message"]
    elog.stub.guard()
    _poll(elog)
    assert elog.standing().degraded is None


@pytest.mark.parametrize("elog", ["elog_http"], indirect=True)
def test_a_source_that_backs_off_is_asked_at_once_when_it_is_resumed(elog):
    elog.add(*elog.some(2))
    elog.load()
    elog.stub.fault("500", times=3)
    for _ in range(3):
        assert elog.run().error is not None
    with elog.stock() as stock:
        assert stock.waits()["tail"] > 60
    with connection(elog.pool) as conn:
        admin_actions.resume(conn, TENANT, elog.name)
    with elog.stock() as stock:
        assert stock.waits()["tail"] <= 0
    assert elog.standing().failures == 0
