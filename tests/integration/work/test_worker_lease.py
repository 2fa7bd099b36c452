"""A batch stays ours while it is worked on, and comes back when nobody does."""

import threading
import time
from functools import partial

import pytest

from shared.errors import CapacityError
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import connection, make_pool
from shared.work import batches, due_work, stage_pauses
from shared.work.batches import GivesWay
from shared.work.bulk_turn import RESTS
from shared.work.leases import Timing, renewed
from tests.support.saving import save_many
from tests.support.waiting import until

LEASE_SECONDS = 1.0
RENEW_SECONDS = 0.2


@pytest.fixture
def pool(database):
    with make_pool(database, application="test", size=4) as pool:
        yield pool


@pytest.fixture
def bulk_rests() -> float:
    """As long as in a worker."""
    return RESTS


@pytest.fixture
def make_due(conn):
    def make(count: int = 1):
        saved = save_many(conn, count, stages=[METADATA_STAGE])
        conn.commit()
        return saved

    return make


def claim(pool):
    with connection(pool) as conn:
        return due_work.claim(
            conn, METADATA_STAGE, limit=10, lease_seconds=LEASE_SECONDS
        )


def renewing(mine):
    return partial(due_work.renew, claim_id=mine.claim, lease_seconds=LEASE_SECONDS)


def test_a_lease_is_renewed_for_as_long_as_the_work_takes(pool, make_due):
    make_due()
    (mine,) = claim(pool)
    ends = time.monotonic() + 2 * LEASE_SECONDS

    with renewed(pool, renewing(mine), Timing(LEASE_SECONDS, RENEW_SECONDS)):
        while time.monotonic() < ends:
            assert claim(pool) == []

    # A worker that dies renews nothing: its row comes back when the lease is over.
    (again,) = until(lambda: claim(pool), within_seconds=3 * LEASE_SECONDS)
    assert again.attempts == mine.attempts + 1


def test_a_hung_task_loses_its_claim_at_the_hard_limit(pool, make_due):
    make_due()
    (mine,) = claim(pool)
    began = time.monotonic()

    hung = threading.Event()
    timing = Timing(LEASE_SECONDS, RENEW_SECONDS, hard_seconds=LEASE_SECONDS)

    with renewed(pool, renewing(mine), timing, hung.set):
        (other,) = until(lambda: claim(pool), within_seconds=5 * LEASE_SECONDS)
        waited = time.monotonic() - began

    assert waited > 1.5 * LEASE_SECONDS
    assert hung.is_set()
    with connection(pool) as conn:
        assert not due_work.finish(conn, mine)
        assert due_work.finish(conn, other)


def test_renewing_goes_on_after_the_database_was_away_for_a_moment(
    pool, conn, make_due
):
    make_due()
    (mine,) = claim(pool)

    with renewed(pool, renewing(mine), Timing(LEASE_SECONDS, RENEW_SECONDS)):
        conn.execute(
            # Returns once they are gone, or not all of them would be noticed as such.
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name LIKE 'logchord test %'"
            "   AND datname = current_database()"
        )
        conn.commit()
        ends = time.monotonic() + 2 * LEASE_SECONDS
        while time.monotonic() < ends:
            assert claim(pool) == []


@pytest.mark.requirement("P2")
def test_an_entry_is_taken_once_when_its_message_arrives_twice_at_once(pool, make_due):
    entry_ids = make_due(20)
    together = threading.Barrier(2)
    taken: list[list] = [[], []]

    def deliver(mine: list) -> None:
        together.wait(10)
        for batch in batches.claim_batches(pool, METADATA_STAGE, entry_ids, limit=3):
            mine.extend(one.entry_id for one in batch)
            with connection(pool) as conn:
                for one in batch:
                    assert due_work.finish(conn, one)

    threads = [threading.Thread(target=deliver, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(taken[0] + taken[1]) == sorted(entry_ids)


def test_the_entries_named_come_first_then_whatever_is_due(pool, make_due):
    entry_ids = sorted(make_due(6))

    found = [
        [one.entry_id for one in batch]
        for batch in batches.claim_batches(pool, METADATA_STAGE, entry_ids[4:], limit=4)
    ]

    assert found == [entry_ids[4:], entry_ids[:4]]


def test_batches_grow_where_many_wait_and_are_small_again_where_few_do(pool, make_due):
    entry_ids = make_due(20)
    sizes = []

    for batch in batches.claim_batches(pool, METADATA_STAGE, (), limit=2, most=6):
        sizes.append(len(batch))
        with connection(pool) as conn:
            due_work.finish(conn, *batch)
            if len(sizes) == 5:
                due_work.add(conn, "default", entry_ids[:3], [METADATA_STAGE])

    assert sizes == [2, 4, 6, 6, 2, 2, 1]


def test_a_worker_that_is_to_end_claims_no_further_batch(pool, make_due, monkeypatch):
    make_due(4)
    monkeypatch.setattr(batches, "_ENDING", bytearray(1))
    found = []

    for batch in batches.claim_batches(pool, METADATA_STAGE, (), limit=1):
        found.append(batch)
        batches.claim_no_more()

    assert len(found) == 1


def test_what_entries_are_found_without_gives_way_to_what_they_are_found_by(
    pool, conn, make_due
):
    first, second, third, late = sorted(make_due(4))
    conn.execute("UPDATE work SET stage = 'duplicates' WHERE entry_id <> %s", [late])
    conn.commit()
    told: list[str] = []
    way = GivesWay([METADATA_STAGE], lambda: told.append("gave way"))

    def taken() -> list[list]:
        found = batches.claim_batches(pool, "duplicates", (), limit=1, gives_way=way)
        return [[one.entry_id for one in batch] for batch in found]

    # However much is due elsewhere, each task gets on by a batch.
    begun = taken()
    told_at_first = list(told)
    with connection(pool) as other:
        stage_pauses.pause(other, METADATA_STAGE, CapacityError("away"))
    while_paused = taken()

    assert len(begun) == 1
    assert told_at_first == told == ["gave way"]
    assert sorted([*begun, *while_paused]) == [[first], [second], [third]]


@pytest.mark.parametrize(
    "change",
    [
        "class = 1",
        "due_at = now() + interval '1 hour'",
        "leased_until = now() + interval '1 hour'",
        "strikes = 3",
    ],
)
def test_nothing_gives_way_to_what_waits_for_no_worker(pool, conn, make_due, change):
    *others, late = sorted(make_due(3))
    conn.execute("UPDATE work SET stage = 'duplicates' WHERE entry_id <> %s", [late])
    conn.execute(f"UPDATE work SET {change} WHERE entry_id = %s", [late])
    conn.commit()

    found = batches.claim_batches(
        pool, "duplicates", (), limit=1, gives_way=GivesWay([METADATA_STAGE])
    )

    assert sorted(one.entry_id for (one,) in found) == others


def test_beside_a_task_with_bulk_work_another_takes_only_what_is_live(
    pool, conn, make_due
):
    first, second, third, fourth = sorted(make_due(4))
    conn.execute("UPDATE work SET class = 1 WHERE entry_id <> %s", [fourth])
    conn.commit()
    at_bulk = batches.claim_batches(pool, METADATA_STAGE, [first], limit=1)
    (taken,) = next(at_bulk)
    beside: list[list] = []

    def take_turns() -> None:
        taken = batches.claim_batches(pool, METADATA_STAGE, (), limit=4)
        beside.extend([one.entry_id for one in batch] for batch in taken)

    other = threading.Thread(target=take_turns)
    other.start()
    other.join(20)
    after = [[one.entry_id for one in batch] for batch in at_bulk]

    assert taken.entry_id == first
    assert beside == [[fourth]]
    # Live work came in just now: bulk work rests.
    assert after == []

    def gone_on() -> bool:
        bulk = batches.claim_batches(pool, METADATA_STAGE, (), limit=1)
        after.extend([one.entry_id for one in batch] for batch in bulk)
        return len(after) == 2

    until(gone_on, within_seconds=20)
    assert after == [[second], [third]]


@pytest.mark.requirement("P7")
def test_beside_what_travels_alone_a_thread_of_its_process_takes_what_is_fresh(
    pool, conn, make_due
):
    first, second, *fresh = sorted(make_due(4))
    conn.execute(
        "UPDATE work SET attempts = 1, due_at = due_at - interval '1 h'"
        " WHERE entry_id = ANY(%s)",
        [[first, second]],
    )
    conn.commit()
    at_first = batches.claim_batches(pool, METADATA_STAGE, [first], limit=4)
    (alone,) = next(at_first)

    beside = list(batches.claim_batches(pool, METADATA_STAGE, (), limit=4))
    after = list(at_first)

    assert (alone.entry_id, alone.alone) == (first, True)
    assert [[one.entry_id for one in batch] for batch in beside] == [fresh]
    # Once it is done, the other one that was tried before has the process for itself.
    assert [[one.entry_id for one in batch] for batch in after] == [[second]]


def test_a_task_claims_for_its_time_only(pool, make_due, monkeypatch):
    make_due(4)
    monkeypatch.setattr(batches, "TASK_SECONDS", 0.0)

    assert list(batches.claim_batches(pool, METADATA_STAGE, (), limit=1)) == []
