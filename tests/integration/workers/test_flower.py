"""Flower is behind a login, changes nothing, and shows ids alone."""

import json
from contextlib import suppress

import httpx2
import psycopg
import pytest

from local import secrets
from shared.messaging.celery_app import make_app
from shared.messaging.nudges import send_nudge
from shared.messaging.stage_names import METADATA_STAGE
from shared.messaging.task_names import EXTRACT_METADATA
from shared.settings.settings import Settings
from tests.support.saving import save_entry
from tests.support.waiting import until

TEXT = "words-of-an-entry-that-only-its-readers-see"
PAGES = ("/", "/workers", "/tasks", "/broker")
API = ("/api/workers", "/api/tasks", "/api/queues/length")


@pytest.mark.timeout(240)
@pytest.mark.requirement("SEC15")
def test_flower_asks_for_a_login_changes_nothing_and_shows_ids_only(
    make_system, celery_broker_cluster
):
    (broker,) = celery_broker_cluster.config()["urls"]
    system = make_system(BROKER_URL=broker)
    system.start("flower", "enhance")
    system.wait_ready("enhance")
    url = f"http://127.0.0.1:{system.environment['FLOWER_PORT']}"
    home = Settings.load(system.environment).home
    user, _, password = secrets.of_home(home).flower_login.partition(":")
    with psycopg.connect(system.database, autocommit=True) as conn:
        entry_id = save_entry(conn, "A-1", TEXT, stages=[METADATA_STAGE])
    app = make_app(Settings.load(system.environment))

    with (
        httpx2.Client(base_url=url, timeout=10) as stranger,
        httpx2.Client(base_url=url, timeout=10, auth=(user, password)) as operator,
    ):
        until(lambda: status(stranger, "/") != 0, within_seconds=60)
        for path in (*PAGES, *API):
            assert stranger.get(path).status_code == 401
            assert stranger.get(path, auth=(user, "guessed")).status_code == 401
        send_nudge(app, METADATA_STAGE, [entry_id])
        seen = until(lambda: succeeded(operator), within_seconds=30)
        name = next(one["worker"] for one in seen.values() if one["worker"])
        refused = [
            operator.post(f"/api/worker/shutdown/{name}").status_code,
            operator.post(f"/api/worker/pool/grow/{name}").status_code,
            operator.post("/api/task/revoke/x", data={"terminate": True}).status_code,
        ]
        shown = json.dumps(seen) + "".join(operator.get(path).text for path in PAGES)

    # The worker nudges the next stage with the same id.
    named = [one for one in seen.values() if str(entry_id) in (one["args"] or "")]
    (done,) = (one for one in named if one["name"] == EXTRACT_METADATA)
    assert done["runtime"] > 0
    assert done["uuid"] in shown
    assert TEXT not in shown
    assert all(code in {403, 405} for code in refused), refused
    assert app.control.ping(timeout=5) != []
    assert password not in system.tail("flower", 1000)


def status(client: httpx2.Client, path: str) -> int:
    with suppress(httpx2.TransportError):
        return client.get(path).status_code
    return 0


def succeeded(client: httpx2.Client) -> dict[str, dict]:
    """What Flower tells of tasks, once it has heard all of one that is done.

    Of another one it may have heard the end, and not yet with what it was called.
    """
    answer = client.get("/api/tasks")
    # Flower says nothing (`write_error`) where a look at what it hears just now fails.
    tasks = answer.json() if answer.status_code == 200 else {}
    done = [one for one in tasks.values() if one["state"] == "SUCCESS" and one["args"]]
    return tasks if done else {}
