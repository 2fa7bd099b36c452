"""Real workers through pytest-celery: pinged, nudged, killed, a broker restarted."""

from __future__ import annotations

import pytest
import redis
from kombu.exceptions import OperationalError
from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import METADATA_STAGE, send_nudge
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from tests.waiting import eventually, until

TENANT = "default"


@pytest.fixture
def save(conn: Connection[TupleRow]):
    def save(external_id: str):
        draft = EntryDraft("api", external_id, "RF cavity 3 tripped")
        (saved,) = save_page(
            conn, TENANT, [draft], stages=[METADATA_STAGE], editor="test"
        )
        conn.commit()
        return saved.entry_id

    return save


@pytest.fixture
def enriched(conn):
    def count() -> int:
        conn.rollback()
        row = conn.execute("SELECT count(*) FROM entry_text").fetchone()
        return row[0]

    return count


def nudged(app, entry_id):
    """Publish, and tell whether the broker took it."""
    try:
        send_nudge(app, METADATA_STAGE, [entry_id])
    except (OperationalError, redis.RedisError, OSError):
        return False
    return True


@pytest.mark.timeout(240)
def test_a_nudged_worker_does_the_work_and_so_does_its_successor(
    celery_setup, save, enriched
):
    assert celery_setup.ready(control=True)
    send_nudge(celery_setup.app, METADATA_STAGE, [save("A-1")])
    assert eventually(enriched, equals=1, within_seconds=20)

    worker = celery_setup.worker
    worker.kill()
    assert worker.container.status == "exited"
    send_nudge(celery_setup.app, METADATA_STAGE, [save("A-2")])
    worker.restart()

    worker.assert_log_exists("worker_ready", timeout=60)
    assert eventually(enriched, equals=2, within_seconds=30)


@pytest.mark.timeout(240)
def test_a_worker_goes_on_after_its_broker_was_restarted_empty(
    celery_setup, save, enriched
):
    assert celery_setup.ready(control=True)

    celery_setup.broker.restart(force=True)
    entry_id = save("A-1")
    until(lambda: nudged(celery_setup.app, entry_id), within_seconds=20)

    assert eventually(enriched, equals=1, within_seconds=20)
    assert celery_setup.worker.container.status == "running"
