"""Real workers through pytest-celery: nudged, killed, stopped, a broker restarted."""

import signal
import time

import httpx2
import psutil
import pytest
import redis
from kombu.exceptions import OperationalError
from psycopg import Connection

from shared.messaging.nudges import send_nudge
from shared.messaging.stage_names import METADATA_STAGE
from tests.support.fixtures import system
from tests.support.fixtures.system import TRUSTED
from tests.support.saving import save_entry
from tests.support.waiting import eventually, until
from workers.runtime.worker_kinds import KINDS

TENANT = "default"
GRACE_SECONDS = 30
STARTED = ("search", "enhance", "embed", "flower")


@pytest.fixture
def save(conn: Connection):
    def save(external_id: str):
        said = "RF cavity 3 tripped"
        entry_id = save_entry(conn, external_id, said, stages=[METADATA_STAGE])
        conn.commit()
        return entry_id

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


@pytest.fixture
def stack(make_system, celery_broker_cluster, monkeypatch):
    """Start processes of these names over a broker that the test may stop."""
    (url,) = celery_broker_cluster.config()["urls"]
    for kind in KINDS:
        words = ("serve", "worker", ",".join(kind.queues))
        monkeypatch.setitem(system.COMMANDS, kind.name, words)

    def start(*names: str):
        system = make_system(BROKER_URL=url, EMBEDDING_MODEL="hashing-384")
        system.start(*names)
        system.wait_ready(*(name for name in names if name != "flower"))
        if "flower" in names:
            until(lambda: shows(system), within_seconds=60, what="Flower")
        return system

    return start


def shows(system) -> bool:
    """Tell whether Flower answers whoever asks how it is."""
    port = system.environment["FLOWER_PORT"]
    try:
        url = f"http://127.0.0.1:{port}/healthcheck"
        return httpx2.get(url, trust_env=False, verify=TRUSTED).is_success
    except httpx2.TransportError:
        return False


def end_all(system) -> dict[str, int | None]:
    """Ask all to end at once; return the status of each, None of what is late."""
    began = time.monotonic()
    for process in system.processes.values():
        process.send_signal(signal.SIGTERM)

    def ended() -> bool:
        late = time.monotonic() - began > GRACE_SECONDS
        return late or all(one.poll() is not None for one in processes.values())

    processes = dict(system.processes)
    until(ended, within_seconds=GRACE_SECONDS + 5)
    return {name: one.poll() for name, one in processes.items()}


@pytest.mark.timeout(240)
@pytest.mark.requirement("P12")
def test_sigterm_ends_every_process_in_time_though_its_broker_is_gone(
    stack, celery_broker_cluster
):
    system = stack(*STARTED)
    celery_broker_cluster[0].kill()
    until(
        lambda: "Cannot connect" in system.tail("enhance"),
        within_seconds=20,
        what=lambda: system.tail("enhance"),
    )

    assert end_all(system) == dict.fromkeys(STARTED, 0)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("P12")
def test_sigterm_ends_every_kind_of_worker_in_time_though_its_broker_hangs(
    stack, celery_broker_cluster
):
    names = (*(kind.name for kind in KINDS), "flower")
    system = stack(*names)
    # Each of them is then waiting for an answer that does not come.
    celery_broker_cluster[0].kill("SIGSTOP")
    waited = time.monotonic() + 3
    until(lambda: time.monotonic() > waited, within_seconds=5)

    ended = end_all(system)
    celery_broker_cluster[0].kill("SIGCONT")

    assert ended == dict.fromkeys(names, 0)


def test_what_nobody_waits_for_takes_fewer_turns_than_a_search(make_system):
    system = make_system()
    for name in ("search", "enhance", "embed", "chores"):
        system.start(name)
    ours = psutil.Process().nice()

    def nice() -> dict[str, int]:
        running = system.processes.items()
        return {name: psutil.Process(one.pid).nice() for name, one in running}

    yielding = dict.fromkeys(("enhance", "embed", "chores"), min(19, ours + 5))
    wanted = {"search": ours, **yielding}
    until(lambda: nice() == wanted, within_seconds=30, what="workers that yield")
