"""A worker that is told to end finishes what it has in hand, and claims no more."""

import re
import time

import httpx2
import psycopg
import pytest

from shared.embedding.load_model import load_encoder
from shared.embedding.vectors import vector_tables, vectors
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.messaging.celery_app import make_app
from shared.messaging.nudges import send_nudge
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.settings.settings import Settings
from tests.support.fixtures.system import TRUSTED
from tests.support.saving import save_many
from tests.support.waiting import until

ENTRIES = 40
GRACE_SECONDS = 30
WORDS = "the klystron of cavity three tripped on arc and water flow was restored "


def port_of(log: str) -> int:
    """Where the worker that wrote this log serves its figures."""
    found = re.search(r'"metrics_port": (\d+)', log)
    assert found is not None, log
    return int(found[1])


def figures(port: int) -> str:
    return httpx2.get(
        f"http://127.0.0.1:{port}/metrics", timeout=5, verify=TRUSTED
    ).text


@pytest.mark.timeout(240)
@pytest.mark.requirement("P12")
def test_sigterm_ends_a_worker_after_its_batch_with_no_run_too_many(
    make_system, celery_broker_cluster
):
    (url,) = celery_broker_cluster.config()["urls"]
    system = make_system(BROKER_URL=url)
    settings = Settings.load(system.environment)
    model = load_encoder(settings.embedding_model, settings.cache).model
    stage = embed_stage(model)
    app = make_app(settings)
    with psycopg.connect(system.database, autocommit=True) as conn:
        drafts = [
            EntryDraft("api", str(number), f"{number} {WORDS * 60}")
            for number in range(ENTRIES)
        ]
        save_page(conn, "default", drafts, stages=[stage], editor="test")
        system.bring_up("embed")
        # Both threads get one to work on, and one that waits behind it.
        for _ in range(4):
            send_nudge(app, stage)
        until(
            lambda: due(conn) < ENTRIES,
            within_seconds=60,
            what=lambda: system.tail("embed"),
        )
        served = figures(port_of(system.tail("embed", 200)))

        began = time.monotonic()
        status = system.stop("embed", within_seconds=GRACE_SECONDS)
        took = time.monotonic() - began

        left = conn.execute("SELECT attempts, claim FROM work").fetchall()
        known = vector_tables.find_model(conn, model)
        assert known is not None
        done = vectors.count_embedded_entries(conn, known.table_name, "default")
        listed = conn.execute("SELECT count(*) FROM worker_process").fetchone()
    assert status == 0
    assert took < GRACE_SECONDS
    assert 0 < len(left) == ENTRIES - done
    assert set(left) == {(0, None)}
    assert listed == (0,)
    assert "logchord_tasks_total" in served


def due(conn) -> int:
    row = conn.execute("SELECT count(*) FROM work").fetchone()
    return row[0]


@pytest.mark.timeout(240)
def test_the_figures_of_all_children_are_served_until_the_worker_ends(
    celery_setup, conn
):
    assert celery_setup.ready()
    saved = save_many(conn, 3, stages=[METADATA_STAGE], text="RF trip")
    conn.commit()
    for entry_id in saved:
        send_nudge(celery_setup.app, METADATA_STAGE, [entry_id])
    port = port_of(celery_setup.worker.logs())

    counted = 'logchord_tasks_total{outcome="ok",task="enhance.extract_metadata"} 3.0'
    until(lambda: counted in figures(port), within_seconds=30)
    celery_setup.worker.container.kill("SIGTERM")

    until(lambda: celery_setup.worker.container.status == "exited", within_seconds=30)
