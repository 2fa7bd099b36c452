"""How long the client waits: less than it reads, and what a search that ended tells."""

import json
import time
from typing import Any

import httpx2
import pytest

from api.client import models
from shared import errors
from tests.support.least_model import least


def job(state: str, *, response: bool, error: errors.LogchordError | None) -> Any:
    """Return a job that has ended so."""
    return {
        **least(models.Job),
        "job_id": "j",
        "state": state,
        "response": least(models.SearchResponse) if response else None,
        "error": error.body()["error"] if error else None,
    }


@pytest.mark.parametrize(
    ("timeout_seconds", "wait_ms"), [(30, 24_000), (10, 8000), (120, 30_000)]
)
def test_the_server_waits_less_than_the_client_reads(
    client_of, timeout_seconds: int, wait_ms: int
):
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if request.method == "POST":
            accepted = {**least(models.JobAccepted), "job_id": "j"}
            return httpx2.Response(202, json=accepted)
        return httpx2.Response(200, json=job("done", response=True, error=None))

    client = client_of(answer, timeout_seconds=timeout_seconds)
    client.search("rf")
    client.job("j").state(wait_ms=60_000)
    assert json.loads(asked[0].content)["wait_ms"] == wait_ms
    assert [one.url.params["wait_ms"] for one in asked[1:]] == [str(wait_ms)] * 2
    client.search("rf", wait_ms=1)
    assert json.loads(asked[3].content)["wait_ms"] == 1


def test_a_part_of_an_answer_is_returned_and_a_failure_is_raised(client_of):
    late = errors.SearchTimeoutError(timeout_seconds=120, operation="agent")

    def waited(state: str, *, response: bool) -> Any:
        body = job(state, response=response, error=late)
        client = client_of(lambda _: httpx2.Response(200, json=body))
        return client.job("j").wait()

    assert isinstance(waited("partial", response=True), models.SearchResponse)
    for state in ("failed", "partial"):
        with pytest.raises(errors.SearchTimeoutError):
            waited(state, response=False)


def test_the_time_there_is_holds_over_all_tries(client_of):
    given = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        given.append((time.monotonic(), request.extensions["timeout"]["read"]))
        error = errors.CapacityError()
        return httpx2.Response(error.status, json=error.body())

    with pytest.raises(errors.CapacityError):
        client_of(answer, timeout_seconds=30).me()
    assert len(given) == 3
    ends = [at + left for at, left in given]
    assert max(ends) - min(ends) < 0.1
    assert [left for _, left in given] == sorted((x for _, x in given), reverse=True)
