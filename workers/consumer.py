"""Messages no task can be made of are recorded and acknowledged; the worker lives.

Left to the libraries, an item that is no message, or a task's name that is a list,
ends the worker, and what it had taken is put back for the next one to die of.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from celery.exceptions import InvalidTaskError
from celery.worker import strategy as celery_strategy
from celery.worker.consumer import Consumer
from kombu.transport import redis as kombu_redis

from shared.due import quarantine
from shared.errors import (
    DatabaseConnectionError,
    DatabaseQueryError,
    MessageRejectedError,
)
from shared.log import get_logger
from shared.postgres import connect, translated_errors
from shared.settings import Settings
from workers.context import database_url
from workers.task import attempt

log = get_logger()

# Ours carry at most 128 ids, about 5 kB.
MAX_BODY_BYTES = 100_000
_UNKNOWN_QUEUE = "unknown"


class Channel(kombu_redis.Channel):
    """Lets go of items of a list that are no messages at all."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            # The item has left the list already; nothing of it is put back.
            record(_UNKNOWN_QUEUE, {}, f"is no message: {type(exc).__name__}")
            return None


class Transport(kombu_redis.Transport):
    """Redis, read by a channel that survives what others put there."""

    Channel = Channel


class RecordingConsumer(Consumer):
    """Writes what it cannot use into the quarantine before it lets go of it."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Return what takes every message, and is ended by none."""
        handle = super().create_task_handler(*args, **kwargs)

        def checked(message: Any) -> None:
            headers = message.headers
            if not isinstance(headers, dict) or not isinstance(
                headers.get("task"), str
            ):
                self.on_unknown_message(None, message)
                return
            error = attempt(handle, message)
            if error is not None:
                self._refuse(message, f"cannot be taken: {error.technical}")

        return checked

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Record a body that is not what its content type says."""
        self._refuse(message, f"cannot be decoded: {exc}")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Record a message that is no task at all."""
        self._refuse(message, "is not a task")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Record a task that this release does not know."""
        self._refuse(message, f"names an unknown task: {exc}")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Record a task whose envelope is malformed, or not allowed."""
        self._refuse(message, f"is malformed: {exc}")

    def _refuse(self, message: Any, reason: str) -> None:
        info = message.delivery_info
        queue = info.get("routing_key") if isinstance(info, dict) else None
        record(str(queue or _UNKNOWN_QUEUE), message.headers, reason)
        if not message.acknowledged:
            message.reject()


def strategy(task: Any, app: Any, consumer: Any) -> Any:
    """Take every message at once: none of ours waits in a worker's memory."""
    handle = celery_strategy.default(task, app, consumer)

    def checked(message: Any, body: Any, *args: Any, **kwargs: Any) -> Any:
        _check(message)
        return handle(message, body, *args, **kwargs)

    return checked


def _check(message: Any) -> None:
    """Raise unless the message is of the one shape that our publishers send."""
    if message.headers.get("eta") is not None:
        reason = "asks for a later time, which no message of ours does"
        raise InvalidTaskError(reason)
    if len(message.body or b"") > MAX_BODY_BYTES:
        reason = f"is larger than {MAX_BODY_BYTES} bytes"
        raise InvalidTaskError(reason)
    # Decoded once, here: the strategy reads the same payload.
    match message.payload:
        case [list(), dict(), dict()]:
            return
    reason = "holds no arguments"
    raise InvalidTaskError(reason)


def record(queue: str, headers: Any, reason: str) -> None:
    """Keep the reason, the queue and the ids of a message; never its arguments."""
    known = headers if isinstance(headers, dict) else {}
    name = str(known.get("task") or "no task")[:200]
    log.warning("message_rejected", queue=queue[:100], task_name=name)
    error = MessageRejectedError(technical=reason[:1000])
    excerpt = f"{name} {str(known.get('id') or '')[:100]}"
    try:
        with (
            translated_errors(),
            connect(
                database_url(_settings()),
                application="rejected messages",
                options="-c statement_timeout=2000",
            ) as conn,
        ):
            quarantine.record_message(conn, queue[:100], error, excerpt)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.error("message_not_recorded", code=exc.error_code)  # noqa: TRY400


@functools.cache
def _settings() -> Settings:
    return Settings.load(os.environ)
