"""Messages that no task can be made of are counted, and the worker goes on."""

import base64
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
import redis

from shared.messaging.celery_app import make_app
from shared.messaging.fan_out import send_branches
from shared.messaging.nudges import NUDGE_IDS, send_nudge
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.settings.settings import Settings
from tests.support.faults.injected.bad_messages import MARK, Writer
from tests.support.refused import count_refused
from tests.support.saving import save_entry
from tests.support.waiting import eventually, until
from workers.runtime import envelope

ENRICHED: LiteralString = "SELECT entry_id FROM entry_text"
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
def test_every_bad_message_is_counted_and_the_worker_goes_on(start, kind):
    system = start(kind)
    pid = system.processes[kind].pid
    writer = Writer(kind)
    silent = []
    with (
        psycopg.connect(system.database, autocommit=True) as conn,
        redis.Redis.from_url(system.environment["BROKER_URL"]) as broker,
    ):
        for name, message in writer.bad().items():
            before = count(system, kind)
            broker.lpush(writer.queue, message)
            if not soon(lambda before=before: count(system, kind) > before):
                silent.append(name)
        works(system, conn, kind)

    assert silent == [], system.tail(kind, 100)
    assert '"event": "message_rejected"' in system.tail(kind, 10_000)
    assert MARK not in system.tail(kind, 10_000)
    assert system.processes[kind].poll() is None
    assert system.processes[kind].pid == pid
    assert "Traceback" not in system.tail(kind, 10_000)


@pytest.mark.requirement("F11", "P4")
def test_a_worker_that_starts_while_redis_is_full_waits_for_room(
    make_system, own_valkey
):
    with redis.Redis.from_url(own_valkey.url) as broker:
        broker.config_set("maxmemory", 1)
        system = make_system(BROKER_URL=own_valkey.url, EMBEDDING_MODEL=MODEL)
        system.start("enhance")
        # It declares its queues, which is refused.
        until(
            lambda: broker.info("errorstats").get("errorstat_OOM"),
            within_seconds=30,
            what="a write that is refused",
        )
        until(
            lambda: "OutOfMemoryError" in system.tail("enhance", 100),
            within_seconds=30,
            what="a worker that has been told",
        )
        broker.config_set("maxmemory", 0)
        until(
            lambda: '"event": "worker_ready"' in system.tail("enhance", 100),
            within_seconds=30,
            what=lambda: system.tail("enhance"),
        )

    assert not system.has_ended("enhance")


def test_what_our_publishers_send_is_what_a_worker_takes(valkey):
    app = make_app(Settings.load({"BROKER_URL": valkey.url}))
    ids = [uuid4() for _ in range(NUDGE_IDS)]
    headers = {
        "deadline": 1.5e9,
        "mailbox": "mailbox:1",
        "request_id": str(uuid4()),
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    queue = "search.bulk"
    with redis.Redis.from_url(valkey.url) as broker:
        # Tasks that other tests ran have nudged whoever comes next.
        broker.delete("enhance.metadata", "enhance.embed", queue)
        send_nudge(app, METADATA_STAGE, ids)
        send_nudge(app, embed_stage("all-MiniLM-L6-v2/int8"), ids)
        send_branches(app, uuid4(), 3, queue, headers)
        items = [
            item
            for name in ("enhance.metadata", "enhance.embed", queue)
            for item in broker.lrange(name, 0, -1)
        ]
        broker.delete("enhance.metadata", "enhance.embed", queue)

    assert len(items) == 5
    for item in items:
        read = envelope.decode_envelope(item, queue)
        envelope.check_headers(read["headers"])
        envelope.check_body(
            read["content-type"],
            read["content-encoding"],
            base64.b64decode(read["body"]),
        )


@pytest.mark.timeout(180)
@pytest.mark.requirement("B17")
def test_orders_nobody_can_read_and_keys_that_are_no_queue_end_no_worker(start):
    system = start("enhance")
    writer = Writer("enhance")
    with (
        psycopg.connect(system.database, autocommit=True) as conn,
        redis.Redis.from_url(system.environment["BROKER_URL"]) as broker,
    ):
        until(broker.pubsub_numpat, within_seconds=20, what="remote control")
        orders = [*writer.bad().values(), writer.item()]
        for order in orders:
            # After some of them the worker listens anew.
            until(
                lambda order=order: broker.publish("/0.celery.pidbox", order),
                within_seconds=10,
            )

        def recorded() -> bool:
            # What was on its way when the worker listened anew is gone.
            for order in orders:
                broker.publish("/0.celery.pidbox", order)
            return count(system, "enhance") > 0

        until(recorded, within_seconds=20)
        broker.set(writer.queue, MARK)
        until(lambda: broker.type(writer.queue) == b"none", within_seconds=20)
        works(system, conn, "enhance")
        until(
            lambda: "stands in place of the queue" in system.tail("enhance", 1_000),
            within_seconds=20,
        )
    app = make_app(Settings.load(system.environment))

    assert len(app.control.ping(timeout=5)) == 1
    assert not system.has_ended("enhance")


@pytest.mark.timeout(180)
def test_nudges_that_expired_by_a_wrong_clock_still_bring_the_work_done(start):
    system = start("enhance")
    writer = Writer("enhance")
    with (
        psycopg.connect(system.database, autocommit=True) as conn,
        redis.Redis.from_url(system.environment["BROKER_URL"]) as broker,
    ):
        save_entry(conn, "A-1", "RF cavity 3 tripped", stages=[METADATA_STAGE])
        broker.lpush(writer.queue, writer.item(expires="2001-01-01T00:00:00+00:00"))
        until(lambda: conn.execute(ENRICHED).fetchall(), within_seconds=20)


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
    entry_id = save_entry(conn, "A-1", "RF cavity 3 tripped", stages=[stage])
    app = make_app(Settings.load(system.environment))
    send_nudge(app, stage, [entry_id])
    due: LiteralString = "SELECT count(*) FROM work WHERE stage = %s"

    def left() -> int:
        row = conn.execute(due, (stage,)).fetchone()
        return row[0]

    assert eventually(left, equals=0, within_seconds=20)


def count(system, kind: str) -> int:
    return sum(count_refused(system, kind).values())


def soon(probe) -> bool:
    try:
        return until(probe, within_seconds=5)
    except AssertionError:
        return False
