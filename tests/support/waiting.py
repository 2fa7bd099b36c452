"""Wait for a condition, to a deadline; tests never just sleep."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx2
import psycopg

T = TypeVar("T")

_POLL_SECONDS = 0.05


def until(
    probe: Callable[[], T | None],
    *,
    within_seconds: float,
    what: str | Callable[[], str] = "",
    every_seconds: float = _POLL_SECONDS,
) -> T:
    """Return the first truthy answer; fail with the last one at the deadline.

    What a log says by then is known only then: it is asked for by a function.
    """
    deadline = time.monotonic() + within_seconds
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            awaited = what() if callable(what) else what or probe
            message = f"{awaited}: still {answer!r} after {within_seconds} s"
            raise AssertionError(message)
        _pause.wait(every_seconds)


def eventually(probe: Callable[[], T], *, equals: T, within_seconds: float) -> bool:
    """Return True once the probe answers this; fail with what it said last."""
    deadline = time.monotonic() + within_seconds
    while (answer := probe()) != equals:
        if time.monotonic() > deadline:
            message = f"{answer!r} is not {equals!r} after {within_seconds} s"
            raise AssertionError(message)
        _pause.wait(_POLL_SECONDS)
    return True


def until_blocked(database: str) -> None:
    """Return once a session of this database waits for a lock."""
    statement = (
        "SELECT FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with psycopg.connect(database, autocommit=True) as conn:
        until(
            lambda: conn.execute(statement).fetchall(),
            within_seconds=20,
            what="a session that waits for a lock",
        )


class _Pause:
    """A wait that nothing ends early: the clock between two probes."""

    def __init__(self) -> None:
        import threading

        self._event = threading.Event()

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)


_pause = _Pause()


def are_worked_on(client: httpx2.Client) -> bool:
    """Say whether every stage is done with every entry that the caller sees."""
    asked: dict[str, Any] = {"limit": 100}
    while True:
        listed = client.get("/v1/entries", params=asked).raise_for_status().json()
        states = {state for one in listed["items"] for state in one["stages"].values()}
        if not states <= {"done", "skipped"}:
            return False
        if listed["next_cursor"] is None:
            return True
        asked["cursor"] = listed["next_cursor"]


def ended_job(client: httpx2.Client, job_id: str, ends: float) -> dict[str, Any]:
    """Return a job once it has ended; fail where it has not by a monotonic time."""
    while time.monotonic() < ends:
        answer = client.get(f"/v1/search/jobs/{job_id}", params={"wait_ms": 2000})
        # On a machine so busy that nobody could look, it is looked again.
        job: dict[str, Any] = answer.json()
        if answer.is_success and job["ended_at"] is not None:
            return job
    message = f"job {job_id} did not end in time"
    raise AssertionError(message)
