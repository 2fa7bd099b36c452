"""Jobs that go on by themselves: waited for, and what they found."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx2

from api.cli import api_client

PATH = "/v1/search/jobs"
_WAIT_MS = 20_000


def ended(client: httpx2.Client, job_id: UUID | str) -> dict[str, Any]:
    """Return a job once it has ended; by its deadline every one has."""
    while True:
        where, wait = f"{PATH}/{job_id}", {"wait_ms": _WAIT_MS}
        job: dict[str, Any] = api_client.call(client, "GET", where, params=wait)
        if job["ended_at"] is not None:
            return job


def response(client: httpx2.Client, job_id: UUID | str) -> dict[str, Any]:
    """Return the response of an ended job; raise CommandError if it failed."""
    job = ended(client, job_id)
    check_state(job)
    found: dict[str, Any] = job["response"]
    return found


def check_state(ended_job: Mapping[str, Any]) -> None:
    """Raise the error of a job, or of its last event, as CommandError if it failed."""
    # What was found until its time was over is an answer all the same: `partial`.
    if ended_job["state"] == "failed":
        raise api_client.make_error(ended_job["error"])


def answered(client: httpx2.Client, reply: dict[str, Any]) -> dict[str, Any]:
    """Return the answer; if the search goes on as a job, wait for its end."""
    return reply if "results" in reply else response(client, reply["job_id"])


def is_degraded(answer: dict[str, Any]) -> bool:
    """Tell whether a part of a search failed, or was late."""
    return bool(answer["degraded"]) or answer["state"] == "partial"
