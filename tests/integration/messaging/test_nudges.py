"""Publishing to a broker, and to one that is away."""

from __future__ import annotations

import json
import time
from uuid import UUID

import pytest
import redis

from shared.errors import CapacityError
from shared.messaging import fan_out, nudges
from shared.messaging.celery_app import count_messages, make_app
from shared.messaging.task_names import QUEUE_OF, TAKE_AGENT_TURN
from shared.settings.settings import Settings

PATIENCE_SECONDS = 2.0
ENTRY_ID = UUID(int=1)


@pytest.fixture
def away():
    """Settings of a broker that nobody runs."""
    return Settings.load({"BROKER_URL": "redis://127.0.0.1:9/0"})


@pytest.mark.parametrize(
    "publish",
    [
        lambda app: nudges.send_nudge(app, "index"),
        lambda app: count_messages(app, ["index"]),
        lambda app: fan_out.send_branches(app, ENTRY_ID, 2, "search", {}),
    ],
    ids=["nudge", "waiting", "dispatch"],
)
def test_a_publisher_learns_at_once_that_the_broker_is_away(away, publish):
    app = make_app(away)
    began = time.monotonic()

    with pytest.raises(CapacityError) as raised:
        publish(app)

    # The libraries would go on trying for six seconds.
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert raised.value.error_code == "broker_unavailable"


def test_a_nudge_from_a_thread_is_never_in_the_way(away):
    nudger = nudges.Nudger(make_app(away))
    began = time.monotonic()

    for _ in range(200):
        nudger.nudge("index", [ENTRY_ID])
    nudger.stop()

    assert time.monotonic() - began < 2 * PATIENCE_SECONDS


def test_a_turn_that_is_said_again_and_again_expires(on_valkey: Settings):
    app = make_app(on_valkey)
    assert on_valkey.broker_url is not None
    with redis.Redis.from_url(on_valkey.broker_url.get_secret_value()) as client:
        queue = QUEUE_OF[TAKE_AGENT_TURN]
        client.delete(queue)
        fan_out.send_agent_turn(app, ENTRY_ID, 2, {}, expires=5.0)
        fan_out.send_agent_turn(app, ENTRY_ID, 1, {})
        sent = [json.loads(one)["headers"] for one in client.lrange(queue, 0, -1)]
        client.delete(queue)

    # A list's head is what was put there last.
    first, nudge = sent
    assert first["expires"] is None
    assert nudge["expires"] is not None
