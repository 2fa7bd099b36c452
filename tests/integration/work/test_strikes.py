"""A poison entry spends its own strikes; whoever travelled with it spends none."""

import threading

import psycopg
import pytest

from shared.errors import InternalError, OpenSearchError
from shared.work import due_work, quarantine, quarantine_budget, stage_pauses
from shared.work.leases import MAX_STRIKES
from shared.work.quarantine import Released, Which
from shared.work.quarantine_budget import Budget
from tests.support.saving import save_many
from tests.support.waiting import until_blocked

STAGE = "metadata"
TENANT = "default"


@pytest.fixture
def make_due(conn):
    def make(count: int, *, tenant: str = TENANT):
        saved = save_many(conn, count, stages=[STAGE], tenant=tenant)
        conn.commit()
        return saved

    return make


@pytest.fixture
def claim(conn):
    def claim(limit: int = 10):
        taken = due_work.claim(conn, STAGE, limit=limit)
        conn.commit()
        return taken

    return claim


@pytest.fixture
def worker_dies(conn):
    """Let every lease run out, as if nobody renewed it."""

    def die() -> None:
        conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
        conn.commit()

    return die


def test_what_died_in_a_batch_goes_alone_from_then_on(make_due, claim, worker_dies):
    make_due(5)
    together = claim()
    worker_dies()

    after = [claim() for _ in range(5)]

    assert [one.alone for one in together] == [False] * 5
    assert [len(batch) for batch in after] == [1] * 5
    assert all(batch[0].alone for batch in after)
    assert claim() == []


@pytest.mark.requirement("P7")
def test_three_deaths_alone_are_the_end_and_a_death_in_a_batch_is_no_strike(
    conn, make_due, claim, worker_dies
):
    (entry_id,) = make_due(1)
    strikes = []
    for _ in range(1 + MAX_STRIKES):
        assert quarantine.add_spent(conn) == []
        (taken,) = claim()
        strikes.append(taken.strikes)
        worker_dies()

    assert strikes == [0, 1, 2, 3]
    assert claim() == []
    (gone,) = quarantine.add_spent(conn)
    assert (gone.entry_id, gone.attempts) == (entry_id, 4)
    (aside,) = quarantine.list_quarantined(conn, Which(TENANT), limit=10)
    assert aside.error["code"] == "worker_lost"
    assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)


def test_what_is_at_work_for_the_last_time_is_not_put_aside_meanwhile(
    conn, make_due, claim
):
    make_due(1)
    conn.execute("UPDATE work SET attempts = 3, strikes = 2")
    (taken,) = claim()

    assert taken.strikes == MAX_STRIKES
    assert quarantine.add_spent(conn) == []
    assert due_work.finish(conn, taken)


def test_fresh_entries_do_not_wait_behind_what_goes_alone(
    make_due, claim, worker_dies, conn
):
    make_due(3)
    claim()
    worker_dies()
    fresh = make_due(4, tenant="other")
    conn.execute("UPDATE work SET due_at = now() - interval '1 h' WHERE attempts = 0")
    conn.commit()

    assert sorted(one.entry_id for one in claim()) == sorted(fresh)


def test_a_bystander_of_many_kills_comes_behind_what_waited_longer(
    make_due, claim, worker_dies
):
    make_due(3)
    claim()
    seen = []
    for _ in range(3):
        worker_dies()
        seen.append(claim()[0].entry_id)

    assert len(set(seen)) == 3, "the same entry was met by every kill"


def test_a_backends_failure_gives_the_strike_back_too(
    conn, make_due, claim, worker_dies
):
    make_due(1)
    claim()
    worker_dies()
    (alone,) = claim()

    due_work.retry_later(conn, alone, OpenSearchError(), backend=True)

    assert conn.execute("SELECT attempts, strikes FROM work").fetchone() == (1, 0)


def test_an_edit_bears_none_of_its_old_texts_strikes(
    conn, make_due, claim, worker_dies
):
    (entry_id,) = make_due(1)
    claim()
    worker_dies()
    (alone,) = claim()
    due_work.add(conn, TENANT, [entry_id], [STAGE])

    due_work.retry_later(conn, alone, InternalError(retriable=True), backend=False)

    assert conn.execute(
        "SELECT attempts, strikes, due_at <= clock_timestamp() FROM work"
    ).fetchone() == (0, 0, True)


def test_a_paused_stage_yields_nothing_and_is_not_nudged(conn, make_due, claim):
    make_due(3)
    assert stage_pauses.pause(conn, STAGE, OpenSearchError())
    conn.execute("UPDATE work SET due_at = now() - interval '1 min'")
    conn.commit()

    assert claim() == []
    assert due_work.list_overdue_stages(conn, grace_seconds=1) == []


def test_a_pause_ends_with_one_row_that_gets_through(conn, make_due, claim):
    make_due(3)
    stage_pauses.pause(conn, STAGE, OpenSearchError())
    conn.execute("UPDATE stage_pause SET until = now() - interval '1 s'")
    conn.commit()

    (probe,) = claim()
    assert probe.is_probe
    stage_pauses.probe_succeeded(conn, STAGE)

    assert stage_pauses.list_pauses(conn) == []
    assert len(claim()) == 2


def test_each_failed_probe_makes_the_pause_longer_up_to_ten_seconds(conn):
    lengths = []
    for _ in range(8):
        assert stage_pauses.pause(conn, STAGE, OpenSearchError())
        assert not stage_pauses.pause(conn, STAGE, OpenSearchError()), "told twice"
        (pause,) = stage_pauses.list_pauses(conn)
        row = conn.execute(
            "SELECT extract(epoch FROM until - clock_timestamp())::float8"
            " FROM stage_pause"
        ).fetchone()
        lengths.append(row[0])
        conn.execute("UPDATE stage_pause SET until = now() - interval '1 s'")
    assert pause.failures == 8
    assert lengths[0] < 1.3 < lengths[2] < lengths[4]
    assert max(lengths) <= 12.5


def test_a_budget_counts_a_row_at_first_and_a_share_once_there_is_a_hundred():
    budget = Budget(percent=20, in_row=25)

    assert not budget.is_spent([(0, 1)] * 24)
    assert budget.is_spent([(0, 1)] * 25)
    assert not budget.is_spent([(1, 0), *[(0, 1)] * 25])
    assert not budget.is_spent([(0, 1), (1, 0)] * 20)
    assert budget.is_spent([*[(0, 1), (4, 0)] * 19, (0, 1), (3, 0)])
    assert not budget.is_spent([*[(0, 1), (4, 0)] * 19, (200, 0)])


@pytest.mark.requirement("P7")
def test_a_spent_budget_pauses_the_stage_and_a_release_gets_everything_done(
    conn, make_due, claim
):
    make_due(40)
    for taken in claim(limit=40):
        quarantine.add(conn, taken, InternalError(technical="bad release"))
    conn.commit()

    (pause,) = stage_pauses.list_pauses(conn)
    assert (pause.stage, pause.code, pause.until) == (
        STAGE,
        stage_pauses.BUDGET_SPENT,
        None,
    )
    assert len(quarantine.list_quarantined(conn, Which(TENANT), limit=100)) == 25
    assert claim() == []
    assert conn.execute("SELECT count(*) FROM work").fetchone() == (15,)

    released = quarantine.release(conn, Which(TENANT, stage=STAGE), limit=100)
    assert released == Released(25, [STAGE], [STAGE])
    conn.commit()
    done = 0
    conn.execute("UPDATE work SET due_at = now()")
    conn.commit()
    while batch := claim():
        done += due_work.finish(conn, *batch)
        conn.commit()
    assert done == 40
    assert quarantine.list_quarantined(conn, Which(TENANT), limit=100) == []


def test_a_release_is_of_the_callers_facility_alone(conn, make_due, claim):
    make_due(1)
    make_due(1, tenant="other")
    for taken in claim():
        quarantine.add(conn, taken, InternalError())

    assert quarantine.release(conn, Which("other"), limit=10)[0] == 1

    (left,) = quarantine.list_quarantined(conn, Which("*"), limit=10)
    assert left.tenant == TENANT
    assert quarantine.discard(conn, Which("other", id=left.id)) is None
    assert quarantine.discard(conn, Which(TENANT, id=left.id)) == left


def test_the_rate_counts_what_ended_within_a_minute(conn, make_due, claim):
    make_due(5)
    first, *others = claim()
    quarantine.add(conn, first, InternalError())
    assert due_work.finish(conn, *others) == 4

    assert quarantine_budget.per_minute(conn) == {STAGE: 5}
    conn.execute("UPDATE stage_outcome SET at = now() - interval '61 s'")
    assert quarantine_budget.per_minute(conn) == {}


@pytest.mark.requirement("P1")
def test_an_edit_committed_while_the_end_waits_for_its_lock_is_seen(
    conn, database, make_due, claim
):
    (entry_id,) = make_due(1)
    (taken,) = claim()
    with psycopg.connect(database) as editing, psycopg.connect(database) as ending:
        due_work.add(editing, TENANT, [entry_id], [STAGE])
        ended: list[int] = []

        def end() -> None:
            ended.append(due_work.finish(ending, taken))
            ending.commit()

        thread = threading.Thread(target=end)
        thread.start()
        until_blocked(database)
        editing.commit()
        thread.join(10)

    assert ended == [0]
    (again,) = claim()
    assert (again.entry_id, again.attempts) == (entry_id, 1)


def test_of_each_stage_the_latest_outcomes_stay_however_old_they_are(conn):
    conn.execute(
        "INSERT INTO stage_outcome (stage, done, at)"
        " SELECT stage, 1, now() - interval '1 h'"
        "   FROM unnest(ARRAY['a', 'b']) AS stage, generate_series(1, 201)"
    )
    conn.execute("DELETE FROM stage_outcome WHERE stage = 'b' AND id % 2 = 0")
    conn.execute("INSERT INTO stage_outcome (stage, done) VALUES ('a', 1)")

    quarantine_budget.forget(conn)

    left = conn.execute(
        "SELECT stage, count(*) FROM stage_outcome GROUP BY stage ORDER BY stage"
    ).fetchall()
    assert left[0] == ("a", 200)
    assert left[1][1] in {100, 101}
