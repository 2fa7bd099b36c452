"""What lies in the broker: how many messages, of which work, and copies of them."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import redis

from shared.messaging.task_names import QUEUES
from tests.support.fixtures.system import System

NAMES = tuple(sorted(QUEUES))
WORK = ("enhance.embed", "enhance.metadata", "index")


class Queues:
    """The queues of one system, seen past Celery."""

    def __init__(self, system: System) -> None:
        self.redis = redis.Redis.from_url(system.environment["BROKER_URL"])

    def close(self) -> None:
        """Let go of the broker."""
        self.redis.close()

    def length(self, *names: str) -> int:
        """Return how many messages lie in these queues, or in all."""
        return sum(int(self.redis.llen(name)) for name in names or NAMES)

    def raw(self, name: str) -> list[bytes | str]:
        """Return the messages of a queue as they lie there, the newest first."""
        return list(self.redis.lrange(name, 0, -1))

    def put(self, name: str, messages: Sequence[bytes | str]) -> None:
        """Deliver such messages once more."""
        if messages:
            self.redis.lpush(name, *messages)

    def swept(self) -> list[str]:
        """Return the queues in which a nudge of the sweeper lies: without ids."""
        return [
            name
            for name in WORK
            if any(not entry_ids(message) for message in self.raw(name))
        ]

    def empty(self) -> None:
        """Lose everything there is: messages, bindings, jobs in flight, rates."""
        self.redis.flushall()


def entry_ids(message: bytes | str) -> list[str]:
    """Return the entries that a nudge names."""
    body: list[Any] = json.loads(base64.b64decode(json.loads(message)["body"]))
    return list(body[0][-1])


def task_id(message: bytes | str) -> str:
    """Return the id that Celery gave a message; copies share it."""
    return str(json.loads(message)["headers"]["id"])
