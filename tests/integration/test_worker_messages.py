"""Messages that no task can be made of are recorded, and the worker goes on."""

from __future__ import annotations

from typing import LiteralString

import psycopg
import pytest
import redis

from shared.broker import METADATA_STAGE, embed_stage, make_app, send_nudge
from shared.due.messages import MAX_ROWS_PER_QUEUE
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from shared.settings import Settings
from tests.faults.bad_messages import MARK, Writer
from tests.waiting import eventually, until

RECORDED: LiteralString = """
    SELECT coalesce(sum(times), 0)::int FROM quarantine WHERE entry_id IS NULL"""
MODEL = "hashing-384"


@pytest.fixture
def start(make_system):
    def start(kind: str):
        system = make_system(EMBEDDING_MODEL=MODEL)
        system.start(kind)
        system.wait_ready(kind)
        return system

    return start


@pytest.mark.timeout(240)
@pytest.mark.requirement("B17")
@pytest.mark.parametrize("kind", ["enhance", "embed", "search"])
def test_every_bad_message_is_recorded_and_the_worker_goes_on(start, kind):
    system = start(kind)
    pid = system.processes[kind].pid
    writer = Writer(kind)
    silent = []
    with (
        psycopg.connect(system.database, autocommit=True) as conn,
        redis.Redis.from_url(system.environment["BROKER_URL"]) as broker,
    ):
        for name, message in writer.bad().items():
            before = count(conn)
            broker.lpush(writer.queue, message)
            if not soon(lambda before=before: count(conn) > before):
                silent.append(name)
        kept = conn.execute("SELECT error::text, excerpt FROM quarantine").fetchall()
        works(system, conn, kind)

    assert silent == [], system.tail(kind, 100)
    assert len(kept) <= MAX_ROWS_PER_QUEUE + 1
    assert MARK not in str(kept)
    assert MARK not in system.tail(kind, 10_000)
    assert system.processes[kind].poll() is None
    assert system.processes[kind].pid == pid
    assert "Traceback" not in system.tail(kind, 10_000)


def works(system, conn, kind: str) -> None:
    """Fail unless the worker still does what it is there for."""
    if kind == "search":
        queue = Writer(kind).queue
        broker = redis.Redis.from_url(system.environment["BROKER_URL"])
        broker.lpush(queue, Writer(kind).item())
        until(lambda: "branch_without_job" in system.tail(kind), within_seconds=20)
        broker.close()
        return
    stage = METADATA_STAGE if kind == "enhance" else embed_stage(MODEL)
    draft = EntryDraft("api", "A-1", "RF cavity 3 tripped")
    (saved,) = save_page(conn, "default", [draft], stages=[stage], editor="test")
    app = make_app(Settings.load(system.environment))
    send_nudge(app, stage, [saved.entry_id])
    due: LiteralString = "SELECT count(*) FROM work WHERE stage = %s"

    def left() -> int:
        row = conn.execute(due, (stage,)).fetchone()
        return row[0]

    assert eventually(left, equals=0, within_seconds=20)


def count(conn) -> int:
    row = conn.execute(RECORDED).fetchone()
    return row[0]


def soon(probe) -> bool:
    try:
        return until(probe, within_seconds=5)
    except AssertionError:
        return False
