"""The clock of the broker, and one that is away."""

import pytest

from shared.errors import CapacityError
from shared.messaging import redis_clients
from shared.messaging.broker_clock import BrokerClock
from shared.settings.settings import Settings


@pytest.fixture
def away():
    """Settings of a broker that nobody runs."""
    return Settings.load({"BROKER_URL": "redis://127.0.0.1:9/0"})


def test_deadlines_go_by_the_brokers_clock(valkey):
    settings = Settings.load({"BROKER_URL": valkey.url})
    with redis_clients.jobs_redis(settings) as client:
        clock = BrokerClock(client)
        first, second = clock.now(), clock.now()
        seconds, micros = client.time()

    assert first <= second
    assert second == pytest.approx(seconds + micros / 1e6, abs=0.5)


def test_a_clock_that_has_heard_the_broker_once_goes_on_without_it(
    valkey, away, monkeypatch
):
    settings = Settings.load({"BROKER_URL": valkey.url})
    with redis_clients.jobs_redis(settings) as client:
        clock = BrokerClock(client)
        first = clock.now()
        monkeypatch.setattr(clock, "_client", redis_clients.jobs_redis(away))
        monkeypatch.setattr(clock, "SAMPLE_SECONDS", 0.0)

        assert clock.now() == pytest.approx(first, abs=5)


def test_a_broker_that_is_away_is_named_to_whoever_asks_its_clock(away):
    with pytest.raises(CapacityError) as raised:
        BrokerClock(redis_clients.jobs_redis(away)).now()

    assert raised.value.error_code == "broker_unavailable"
