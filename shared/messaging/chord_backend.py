"""Where Celery counts the header of a chord: the Redis that searches keep jobs in."""

from __future__ import annotations

from typing import Any

from celery.backends.redis import RedisBackend

from shared.messaging.redis_clients import jobs_url
from shared.settings.settings import Settings

# Longer than any search may take, and no longer than its job is kept in Redis.
KEPT_SECONDS = 120


class ChordBackend(RedisBackend):
    """Counts the ends of a chord's header; nobody waits here for a result.

    Redis's own backend subscribes to every task that is sent, 0.7 ms of processor time
    a search: outcomes come through the job's hash and a mailbox instead.
    """

    def on_task_call(self, producer: Any, task_id: str) -> None:
        """Wait for no task."""

    def add_pending_result(self, result: Any, *_: Any, **__: Any) -> Any:
        """Return the result that nobody waits for."""
        return result

    def remove_pending_result(self, result: Any) -> Any:
        """Return the result that nobody waited for."""
        return result


def chord_backend_url(settings: Settings) -> str:
    """Return the address by which Celery finds this backend."""
    return f"{ChordBackend.__module__}:{ChordBackend.__name__}+{jobs_url(settings)}"
