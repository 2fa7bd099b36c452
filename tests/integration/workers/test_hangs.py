"""A thread that never comes back, or a memory that fills, ends its process in order."""

from typing import LiteralString

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.celery_app import make_app
from shared.messaging.nudges import send_nudge
from shared.messaging.stage_names import embed_stage
from shared.settings.settings import Settings
from tests.support.saving import save_entry
from tests.support.waiting import until

MODEL = "hashing-384"
STAGE = embed_stage(MODEL)
HARD_SECONDS = 6
POISON = (
    {"word": "venom", "where": "embed", "does": "hang"},
    {"word": "syrup", "where": "embed", "does": "wait", "seconds": 5},
)
CLAIMED: LiteralString = """
    SELECT claimed_at < clock_timestamp() - make_interval(secs => %(age)s)
      FROM work WHERE entry_id = %(id)s AND claim IS NOT NULL"""
LEFT: LiteralString = "SELECT entry_id, attempts FROM work ORDER BY entry_id"


@pytest.mark.timeout(180)
def test_a_hung_thread_ends_its_process_once_its_neighbour_is_done(make_system):
    system = make_system(
        EMBEDDING_MODEL=MODEL,
        LOGCHORD_WORK__TASK_HARD_SECONDS=str(HARD_SECONDS),
        LOGCHORD_WORK__TASK_SOFT_SECONDS=str(HARD_SECONDS),
        LOGCHORD_WORK__LEASE_SECONDS="2",
        LOGCHORD_WORK__LEASE_RENEW_SECONDS="0.5",
    )
    system.start("embed", faulty={"poison": POISON})
    system.wait_ready("embed")
    app = make_app(Settings.load(system.environment))
    with psycopg.connect(system.database, autocommit=True) as conn:
        drafts = [EntryDraft("api", word, word) for word in ("venom", "syrup")]
        hung, slow = (
            one.entry_id
            for one in save_page(conn, "default", drafts, stages=[], editor="test")
        )

        def add(entry_id) -> None:
            conn.execute(
                "INSERT INTO work (entry_id, stage, tenant) VALUES (%s, %s, 'default')",
                (entry_id, STAGE),
            )
            send_nudge(app, STAGE, [entry_id])

        def held(entry_id, age: float) -> bool:
            row = conn.execute(CLAIMED, {"id": entry_id, "age": age}).fetchone()
            return bool(row and row[0])

        add(hung)
        until(lambda: held(hung, HARD_SECONDS / 2), within_seconds=20)
        add(slow)
        until(
            lambda: held(slow, 0), within_seconds=10, what=lambda: system.tail("embed")
        )
        until(lambda: system.has_ended("embed"), within_seconds=30)
        left = conn.execute(LEFT).fetchall()

    log = system.tail("embed", 100)
    assert system.processes["embed"].returncode == 1
    assert "worker_hung" in log
    assert left == [(hung, 1)]


@pytest.mark.timeout(180)
def test_a_task_that_hangs_in_a_prefork_worker_ends_with_its_child_alone(make_system):
    system = make_system(
        LOGCHORD_WORK__TASK_HARD_SECONDS="3",
        LOGCHORD_WORK__TASK_SOFT_SECONDS="3",
        LOGCHORD_WORK__LEASE_SECONDS="2",
        LOGCHORD_WORK__LEASE_RENEW_SECONDS="0.5",
    )
    poison = {"word": "venom", "where": "metadata", "does": "hang"}
    system.start("enhance", faulty={"poison": [poison]})
    # A nudge may be lost with the child that was to have it: the sweeper repeats it.
    system.start("upkeep")
    system.wait_ready("enhance", "upkeep")
    app = make_app(Settings.load(system.environment))
    with psycopg.connect(system.database, autocommit=True) as conn:
        save_entry(conn, "venom", "venom", stages=["metadata"])
        send_nudge(app, "metadata")
        until(lambda: "Hard time limit" in system.tail("enhance"), within_seconds=20)
        other = save_entry(conn, "water", "water", stages=["metadata"])

        def done() -> bool:
            due = conn.execute(LEFT).fetchall()
            return other not in {row[0] for row in due}

        until(done, within_seconds=20, what=lambda: system.tail("enhance"))

    assert not system.has_ended("enhance")


@pytest.mark.timeout(180)
def test_threads_that_have_grown_too_large_end_with_what_they_have_in_hand(make_system):
    system = make_system(EMBEDDING_MODEL=MODEL, LOGCHORD_WORKER_MEMORY_MB="192")
    poison = (
        {"word": "venom", "where": "embed", "does": "hog", "megabytes": 300},
        {"word": "syrup", "where": "embed", "does": "wait", "seconds": 8},
    )
    system.start("embed", faulty={"poison": poison})
    system.wait_ready("embed")
    app = make_app(Settings.load(system.environment))
    with psycopg.connect(system.database, autocommit=True) as conn:
        drafts = [EntryDraft("api", word, word) for word in ("syrup", "venom")]
        found = save_page(conn, "default", drafts, stages=[STAGE], editor="test")
        hog = found[1].entry_id
        for one in found:
            send_nudge(app, STAGE, [one.entry_id])
        until(lambda: system.has_ended("embed"), within_seconds=30)
        left = conn.execute(LEFT).fetchall()
        log = system.tail("embed", 100)

        system.bring_up("embed")
        conn.execute("UPDATE work SET due_at = now()")
        send_nudge(app, STAGE, [hog])
        until(lambda: not conn.execute(LEFT).fetchall(), within_seconds=30, what=log)

    assert "worker_grown" in log
    assert [row[0] for row in left] == [hog]
