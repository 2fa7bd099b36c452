"""A request is known by the same ids in its answer and in every task it makes."""

import json

import pytest
import redis

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.requirement("I03")
def test_request_id_and_traceparent_are_echoed_and_travel_with_every_branch(
    make_system,
):
    system = make_system()
    system.start("api")
    system.wait_ready()
    given = {"X-Request-ID": "shift-7.42", "traceparent": PARENT}

    with system.client() as client:
        answer = client.post("/v1/search/jobs", json={"query": "arc"}, headers=given)

    assert answer.status_code == 202
    assert answer.headers["x-request-id"] == "shift-7.42"
    assert answer.headers["traceparent"] == PARENT
    with redis.Redis.from_url(system.environment["BROKER_URL"]) as queue:
        messages = [json.loads(raw) for raw in queue.lrange("search", 0, -1)]
    assert len(messages) == 2
    for message in messages:
        assert message["headers"]["request_id"] == "shift-7.42"
        assert message["headers"]["traceparent"] == PARENT
