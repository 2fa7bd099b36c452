"""A process that was started again is not missing; one that was not, is."""

from datetime import UTC, datetime, timedelta

from shared.ids import uuid7
from shared.work.live_processes import Process, missing

BEGAN = datetime(2026, 3, 2, tzinfo=UTC)


def process(kind: str, since: int, seen: int, *, stale: bool) -> Process:
    return Process(
        id=uuid7(),
        kind=kind,
        queues=[kind],
        pid=since,
        host="here",
        version="0",
        since=BEGAN + timedelta(seconds=since),
        seen_at=BEGAN + timedelta(seconds=seen),
        stale=stale,
    )


def test_a_worker_killed_again_and_again_is_replaced_by_the_next_each_time():
    known = [
        process("search", 0, 10, stale=True),
        process("search", 12, 20, stale=True),
        process("search", 22, 60, stale=False),
    ]
    assert missing(known) == []


def test_a_silent_process_is_missing_when_only_older_ones_live_beside_it():
    silent = process("search", 0, 30, stale=True)
    known = [silent, process("search", 1, 60, stale=False)]
    assert missing(known) == [silent]


def test_one_new_process_stands_for_one_dead_one_only():
    known = [
        process("search", 0, 30, stale=True),
        process("search", 1, 31, stale=True),
        process("search", 40, 60, stale=False),
    ]
    assert len(missing(known)) == 1


def test_another_kind_replaces_nothing():
    silent = process("embed", 0, 30, stale=True)
    assert missing([silent, process("search", 40, 60, stale=False)]) == [silent]
