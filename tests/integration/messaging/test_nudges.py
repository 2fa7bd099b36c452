"""Publishing to a broker, and to one that is away."""

import json
import time
from uuid import UUID

import pytest
import redis
from kombu.exceptions import OperationalError

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


@pytest.mark.timeout(30)
@pytest.mark.requirement("P3")
def test_a_worker_answers_an_order_at_once_or_not_at_all(celery_broker_cluster):
    (url,) = celery_broker_cluster.config()["urls"]
    app = make_app(Settings.load({"BROKER_URL": url}))
    reply = ({"enhance": "pong"}, "reply.celery.pidbox", "who asked", "their ticket")
    with app.connection_for_read() as link:
        node = app.control.mailbox.Node("enhance", channel=link.channel())
        node.reply(*reply)
        celery_broker_cluster[0].kill()
        began = time.monotonic()

        # Left to the libraries, it would try until the broker is back.
        with pytest.raises(OperationalError):
            node.reply(*reply)

    assert time.monotonic() - began < PATIENCE_SECONDS


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
