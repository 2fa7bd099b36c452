"""The broker as publishers meet it: its clock, its queues, and its absence."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from shared.errors import CapacityError
from shared.messaging import broker
from shared.settings.settings import Settings

PATIENCE_SECONDS = 2.0
ENTRY_ID = UUID(int=1)


@pytest.fixture
def away():
    """Settings of a broker that nobody runs."""
    return Settings.load({"BROKER_URL": "redis://127.0.0.1:9/0"})


def test_deadlines_go_by_the_brokers_clock(valkey):
    settings = Settings.load({"BROKER_URL": valkey.url})
    with broker.jobs_redis(settings) as client:
        clock = broker.BrokerClock(client)
        first, second = clock.now(), clock.now()
        seconds, micros = client.time()

    assert first <= second
    assert second == pytest.approx(seconds + micros / 1e6, abs=0.5)


def test_a_clock_that_has_heard_the_broker_once_goes_on_without_it(
    valkey, away, monkeypatch
):
    settings = Settings.load({"BROKER_URL": valkey.url})
    with broker.jobs_redis(settings) as client:
        clock = broker.BrokerClock(client)
        first = clock.now()
        monkeypatch.setattr(clock, "_client", broker.jobs_redis(away))
        monkeypatch.setattr(clock, "SAMPLE_SECONDS", 0.0)

        assert clock.now() == pytest.approx(first, abs=5)


def test_a_broker_that_is_away_is_named_to_whoever_asks_its_clock(away):
    with pytest.raises(CapacityError) as raised:
        broker.BrokerClock(broker.jobs_redis(away)).now()

    assert raised.value.error_code == "broker_unavailable"


@pytest.mark.parametrize(
    "publish",
    [
        lambda app: broker.send_nudge(app, "index"),
        lambda app: broker.waiting(app, ["index"]),
        lambda app: broker.dispatch(app, ENTRY_ID, 2, "search", {}),
    ],
    ids=["nudge", "waiting", "dispatch"],
)
def test_a_publisher_learns_at_once_that_the_broker_is_away(away, publish):
    app = broker.make_app(away)
    began = time.monotonic()

    with pytest.raises(CapacityError) as raised:
        publish(app)

    # The libraries would go on trying for six seconds.
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert raised.value.error_code == "broker_unavailable"


def test_a_nudge_from_a_thread_is_never_in_the_way(away):
    nudger = broker.Nudger(broker.make_app(away))
    began = time.monotonic()

    for _ in range(200):
        nudger.nudge("index", [ENTRY_ID])
    nudger.stop()

    assert time.monotonic() - began < 2 * PATIENCE_SECONDS
