"""Messages no task can be made of are counted and acknowledged; the worker lives.

Left to the libraries, an item that is no message, or a task's name that is a list,
ends the worker, and what it had taken is put back for the next one to die of.
"""

import functools
import time
from collections.abc import Callable
from queue import Empty
from typing import Any

from celery.worker import strategy as celery_strategy
from celery.worker.consumer import Consumer
from kombu.transport import redis as kombu_redis
from kombu.utils.encoding import bytes_to_str
from redis import ResponseError

from shared.errors import LogchordError, MessageRejectedError
from shared.messaging.fan_out import WATCHED
from workers.runtime import envelope, refused_messages
from workers.runtime.task import attempt

# An expired message of a kind is let through this often: see `strategy`.
EXPIRED_EVERY_SECONDS = 1.0
# kombu sleeps whole seconds here, and looks meanwhile whether the worker is to end.
RECONNECT_SECONDS = 1

_REMOTE_CONTROL = "remote control"
# An empty list is no key at all.
_TYPES_OF_QUEUES = frozenset({b"list", b"none", "list", "none"})


class Channel(kombu_redis.Channel):
    """Lets go of items of a list that are no messages of ours."""

    def _brpop_read(self, **options: Any) -> Any:
        # As in the class above, but for what is done with the item.
        try:
            popped = self._pop(options)
            if not popped:
                raise Empty
            queue = bytes_to_str(popped[0]).rsplit(self.sep, 1)[0]
            self._queue_cycle.rotate(queue)
            reason = _refusal(self._deliver, queue, popped[1])
        finally:
            self._in_poll = False
            self._flush_brpop_reauth()  # type: ignore[no-untyped-call]
        if reason is not None:
            # The item has left the list already; nothing of it is put back.
            refused_messages.count_refusal(queue, None, None, reason)
        return True

    def _pop(self, options: dict[str, Any]) -> Any:
        try:
            link = self.client.connection
            return self.client.parse_response(link, "BRPOP", **options)
        except self.connection_errors:
            # The next turn then connects again.
            self.client.connection.disconnect()
            raise
        except ResponseError:
            if not self._remove_what_is_no_queue():
                raise
            return None

    def _remove_what_is_no_queue(self) -> bool:
        """Remove keys that stand where our queues should, of a type that is no list."""
        removed = False
        with self.conn_or_acquire() as client:
            for queue in self._active_queues:
                if client.type(queue) not in _TYPES_OF_QUEUES:
                    client.delete(queue)
                    reason = "stands in place of the queue"
                    refused_messages.count_refusal(queue, None, None, reason)
                    removed = True
        return removed

    def _deliver(self, queue: str, item: bytes) -> None:
        self.connection._deliver(envelope.decode_envelope(item, queue), queue)  # noqa: SLF001

    def _receive_one(self, c: Any) -> Any:
        try:
            return super()._receive_one(c)  # type: ignore[no-untyped-call]
        except (
            *(KeyError, TypeError, ValueError, AttributeError),
            *(RecursionError, LogchordError),
        ) as exc:
            # An order that nobody can read; the connection is sound.
            refused_messages.count_refusal(
                _REMOTE_CONTROL, None, None, type(exc).__name__
            )
            return False


class Transport(kombu_redis.Transport):
    """Redis, read by a channel that survives what others put there."""

    Channel = Channel


class RefusingConsumer(Consumer):
    """Counts messages that it cannot use, and then acknowledges them."""

    def ensure_connected(self, conn: Any) -> Any:
        """Ask for the broker every second, however long it has been away.

        Celery would wait two seconds longer after each try, up to half a minute.
        """
        conn.ensure_connection = functools.partial(
            conn.ensure_connection, interval_start=RECONNECT_SECONDS, interval_step=0
        )
        return super().ensure_connected(conn)

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Return a handler for every message that counts bad ones and never fails."""
        handle = super().create_task_handler(*args, **kwargs)

        def take(message: Any) -> None:
            envelope.check_headers(message.headers)
            # How long a task may take is this worker's to say, and nobody else's.
            message.headers["timelimit"] = [None, None]
            envelope.check_body(
                message.content_type, message.content_encoding, message.body
            )
            handle(message)

        def checked(message: Any) -> None:
            reason = _refusal(take, message)
            if reason is not None:
                self._refuse(message, reason)

        return checked

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Refuse a body that is not what its content type says."""
        self._refuse(message, f"cannot be decoded: {type(exc).__name__}")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Refuse a message that is no task at all."""
        self._refuse(message, "is not a task")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Refuse a task that this release does not know."""
        self._refuse(message, "names an unknown task")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Refuse a task whose envelope is malformed, or not allowed."""
        self._refuse(message, f"is malformed: {type(exc).__name__}")

    def _refuse(self, message: Any, reason: str) -> None:
        info = message.delivery_info
        queue = info.get("routing_key") if isinstance(info, dict) else None
        headers = message.headers if isinstance(message.headers, dict) else {}
        refused_messages.count_refusal(
            queue, headers.get("task"), headers.get("id"), reason
        )
        if not message.acknowledged:
            message.reject()


def strategy(task: Any, app: Any, consumer: Any) -> Any:
    """Drop messages whose time is over, but never all; tell Flower of the watched.

    A nudge's time is over by two clocks, the publisher's and this worker's. Were one
    of them hours wrong, every nudge would be dropped, and what is due stay due.
    """
    handle = handle_watched = celery_strategy.default(task, app, consumer)
    if not task.send_events:
        # Celery asks the task, not the message, whether events are sent of it.
        watched = type(task.__name__, (type(task),), {"send_events": True})()
        handle_watched = celery_strategy.default(watched, app, consumer)
    let_through_at = -EXPIRED_EVERY_SECONDS

    def judged(message: Any, body: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal let_through_at
        now = time.monotonic()
        if message.headers.get("expires") and (
            now - let_through_at >= EXPIRED_EVERY_SECONDS
        ):
            let_through_at = now
            message.headers["expires"] = None
        is_watched = message.headers.get(WATCHED) is True
        return (handle_watched if is_watched else handle)(
            message, body, *args, **kwargs
        )

    return judged


def _refusal(step: Callable[..., object], *args: object) -> str | None:
    """Run the step and say why it refused, in words of our own, if it did.

    Those of a library may repeat what it read. The error itself is not handed on: its
    traceback holds the message, as large as it is, until the garbage is collected.
    """
    error = attempt(step, *args)
    if error is None:
        return None
    error.__traceback__ = None
    if isinstance(error, MessageRejectedError) and error.technical:
        return error.technical
    return "cannot be taken"
