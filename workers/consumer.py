"""Messages no task can be made of are recorded and acknowledged; the worker lives."""

from __future__ import annotations

import os
from typing import Any

from celery.exceptions import InvalidTaskError
from celery.worker import strategy as celery_strategy
from celery.worker.consumer import Consumer

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

log = get_logger()


class RecordingConsumer(Consumer):
    """Writes what it cannot use into the quarantine before it lets go of it."""

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Record a body that is not what its content type says, or not allowed."""
        message.ack()
        record(message, f"cannot be decoded: {exc}")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Record a message that is no task at all."""
        message.reject()
        record(message, "is not a task")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Record a task that this release does not know."""
        message.reject()
        record(message, f"names an unknown task: {exc}")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Record a task whose envelope is malformed."""
        message.reject()
        record(message, f"is malformed: {exc}")


def strategy(task: Any, app: Any, consumer: Any) -> Any:
    """Take every message at once: none of ours waits in a worker's memory."""
    handle = celery_strategy.default(task, app, consumer)

    def checked(message: Any, body: Any, *args: Any, **kwargs: Any) -> Any:
        headers = message.headers or {}
        if headers.get("eta") is not None:
            reason = "asks for a later time, which no message of ours does"
            raise InvalidTaskError(reason)
        return handle(message, body, *args, **kwargs)

    return checked


def record(message: Any, reason: str) -> None:
    """Keep the reason, the queue and the ids of a message; never its arguments."""
    headers = message.headers or {}
    where = (message.delivery_info or {}).get("routing_key") or "unknown"
    name = str(headers.get("task") or "no task")[:200]
    log.warning("message_rejected", queue=str(where)[:100], task_name=name)
    error = MessageRejectedError(technical=reason[:1000])
    excerpt = f"{name} {str(headers.get('id') or '')[:100]}"
    settings = Settings.load(os.environ)
    try:
        with (
            translated_errors(),
            connect(
                database_url(settings),
                application="rejected messages",
                options="-c statement_timeout=2000",
            ) as conn,
        ):
            quarantine.record_message(conn, str(where)[:100], error, excerpt)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        log.error("message_not_recorded", code=exc.error_code)  # noqa: TRY400
