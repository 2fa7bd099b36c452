"""Flower beside a system, asked by its own API behind its login."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from local import secrets
from tests.support.fixtures.system import System
from tests.support.waiting import until


@contextmanager
def flower_of(system: System) -> Iterator[httpx2.Client]:
    """Start Flower and log in; it hears of what comes from now on."""
    system.start("flower")
    home = Path(system.environment["LOGCHORD_HOME"])
    user, _, password = secrets.of_home(home).flower_login.partition(":")
    url = f"http://127.0.0.1:{system.environment['FLOWER_PORT']}"
    with httpx2.Client(base_url=url, timeout=10, auth=(user, password)) as client:

        def is_listening() -> bool:
            try:
                workers = client.get("/api/workers", params={"status": "true"})
            except httpx2.TransportError:
                return False
            return workers.status_code == 200 and bool(workers.json())

        until(is_listening, within_seconds=60, what="Flower, and a worker in it")
        yield client


def tasks_of(flower: httpx2.Client, job_id: str) -> list[dict[str, Any]]:
    """Return what Flower tells of the tasks of a job."""
    tasks = flower.get("/api/tasks").json().values()
    return [one for one in tasks if job_id in (one["args"] or "")]


def wait_for_tasks(
    flower: httpx2.Client, job_id: str, count: int
) -> list[dict[str, Any]]:
    """Return the tasks of a job once so many of them have succeeded."""

    def succeeded() -> list[dict[str, Any]]:
        done = [one for one in tasks_of(flower, job_id) if one["state"] == "SUCCESS"]
        return done if len(done) == count else []

    return until(succeeded, within_seconds=30, what="the tasks of a job in Flower")
