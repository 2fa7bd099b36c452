"""Work rows: claimed once, never lost by an update that comes meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import InternalError, OpenSearchError
from shared.work import due_work, quarantine
from tests.support.saving import save_entry, save_many
from tests.support.waiting import until_blocked

TENANT = "default"
STAGES = ["metadata"]


@pytest.fixture
def entry_id(conn: Connection):
    saved = save_entry(conn, "A-1", "RF cavity 3 tripped", stages=STAGES)
    conn.commit()
    return saved


def claim(conn, entry_ids=None):
    taken = due_work.claim(conn, "metadata", limit=10, entry_ids=entry_ids)
    conn.commit()
    return taken


def test_a_claimed_row_is_not_claimed_again_while_its_lease_runs(conn, entry_id):
    first = claim(conn)

    assert [one.entry_id for one in first] == [entry_id]
    assert claim(conn) == []


def test_a_row_whose_lease_ran_out_is_claimed_again_and_counts_the_attempt(
    conn, entry_id
):
    claim(conn)
    conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
    conn.commit()

    (again,) = claim(conn)

    assert again.attempts == 2


def test_finishing_deletes_the_row(conn, entry_id):
    (taken,) = claim(conn)

    assert due_work.finish(conn, taken)
    assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)


@pytest.mark.requirement("O06")
def test_an_update_while_the_stage_runs_is_not_lost(conn, entry_id):
    (taken,) = claim(conn)
    due_work.add(conn, TENANT, [entry_id], STAGES)

    assert not due_work.finish(conn, taken)
    assert [one.entry_id for one in claim(conn)] == [entry_id]


def test_a_lost_claim_finishes_nothing(conn, entry_id):
    (lost,) = claim(conn)
    conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
    (ours,) = claim(conn)

    assert not due_work.finish(conn, lost)
    assert due_work.finish(conn, ours)


def test_a_backends_failure_gives_the_attempt_back(conn, entry_id):
    (taken,) = claim(conn)

    due_work.retry_later(conn, taken, OpenSearchError(), backend=True)

    row = conn.execute(
        "SELECT attempts, claim, due_at > now(), last_error ->> 'code' FROM work"
    ).fetchone()
    assert row == (0, None, True, "opensearch_unavailable")


def test_putting_aside_keeps_the_reason_and_ends_the_row(conn, entry_id):
    (taken,) = claim(conn)

    assert quarantine.add(conn, taken, InternalError(technical="boom"))

    row = conn.execute(
        "SELECT entry_id, stage, error ->> 'code', error -> 'details' ->> 'technical'"
        " FROM quarantine"
    ).fetchone()
    assert row == (entry_id, "metadata", "internal_error", "boom")
    assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)


def test_an_edited_entry_is_not_put_aside_for_its_old_text(conn, entry_id):
    (taken,) = claim(conn)
    due_work.add(conn, TENANT, [entry_id], STAGES)

    assert not quarantine.add(conn, taken, InternalError())
    assert [one.entry_id for one in claim(conn)] == [entry_id]


def test_two_sessions_claim_disjoint_rows(conn, database):
    save_many(conn, 20, stages=STAGES)
    conn.commit()

    with psycopg.connect(database) as other:
        mine = due_work.claim(conn, "metadata", limit=12)
        theirs = due_work.claim(other, "metadata", limit=12)

    assert len(mine) == 12
    assert len(theirs) == 8
    assert not {one.entry_id for one in mine} & {one.entry_id for one in theirs}


def test_live_work_is_claimed_before_bulk_work(conn):
    for number, work_class in enumerate((due_work.BULK, due_work.LIVE)):
        draft = EntryDraft(source="api", external_id=str(number), text="x")
        save_page(
            conn, TENANT, [draft], stages=STAGES, editor="test", work_class=work_class
        )

    (first,) = due_work.claim(conn, "metadata", limit=1)

    assert first.work_class == due_work.LIVE


@pytest.mark.requirement("P1")
def test_an_edit_beside_a_failure_that_is_put_aside_is_no_deadlock(
    conn, database, entry_id
):
    (taken,) = claim(conn)
    edit = EntryDraft(source="api", external_id="A-1", text="edited meanwhile")
    with (
        psycopg.connect(database) as failing,
        psycopg.connect(database) as editing,
        ThreadPoolExecutor(1) as threads,
    ):
        # The failure has its row in hand when the edit locks the entry.
        failing.execute("SELECT FROM work FOR UPDATE")
        saving = threads.submit(
            save_page, editing, TENANT, [edit], stages=STAGES, editor="test"
        )
        until_blocked(database)
        assert quarantine.add(failing, taken, InternalError())
        failing.commit()
        assert saving.result()[0].status == "updated"
        editing.commit()

    assert [one.entry_id for one in claim(conn)] == [entry_id]


@pytest.mark.requirement("P2")
def test_renewing_a_lease_beside_the_end_of_its_batch_is_no_deadlock(conn, database):
    first, last = sorted(save_many(conn, 2, stages=STAGES))
    # In the table the last one lies before the first.
    conn.execute("DELETE FROM work WHERE entry_id = %s", (first,))
    due_work.add(conn, TENANT, [first], STAGES)
    taken = {one.entry_id: one for one in claim(conn)}
    with (
        psycopg.connect(database) as ending,
        psycopg.connect(database) as renewing,
        ThreadPoolExecutor(1) as threads,
    ):
        assert due_work.finish(ending, taken[first])
        renewal = threads.submit(due_work.renew, renewing, taken[first].claim)
        until_blocked(database)
        assert due_work.finish(ending, taken[last])
        ending.commit()
        assert renewal.result() == 0
        renewing.commit()
