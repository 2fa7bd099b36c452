"""The broker's time, by which every deadline is judged on every machine."""

import threading
import time

import redis

from shared.errors import CapacityError
from shared.messaging.broker_errors import translate_broker_errors


class BrokerClock:
    """The broker's time, by which every deadline is judged on every machine."""

    SAMPLE_SECONDS = 30.0

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._offset = 0.0
        self._sampled: float | None = None
        self._lock = threading.Lock()

    def now(self) -> float:
        """Return epoch seconds; between samples the monotonic clock carries them."""
        sampled = self._sampled
        if sampled is None or time.monotonic() - sampled > self.SAMPLE_SECONDS:
            self._sample()
        return time.monotonic() + self._offset

    def _sample(self) -> None:
        with self._lock:
            before = time.monotonic()
            if self._sampled is not None and (
                before - self._sampled <= self.SAMPLE_SECONDS
            ):
                return
            try:
                with translate_broker_errors():
                    seconds, micros = self._client.time()
            except CapacityError:
                if self._sampled is None:
                    raise
                # The last offset serves until the broker is back.
                self._sampled = before
                return
            after = time.monotonic()
            self._offset = seconds + micros / 1e6 - (before + after) / 2
            self._sampled = after
