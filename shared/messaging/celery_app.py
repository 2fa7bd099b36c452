"""The Celery application, and how many messages lie in its queues."""

from collections.abc import Sequence
from typing import Any

from celery import Celery
from celery.app.control import Control
from celery.backends.redis import RedisBackend
from kombu import pidbox
from kombu.entity import Queue

from shared.messaging.broker_errors import translate_broker_errors
from shared.messaging.redis_clients import broker_url, jobs_url
from shared.messaging.task_names import QUEUE_OF, QUEUES
from shared.settings.settings import Settings

# Five eighths of a megabyte, in KiB: what is large by then is not all in pages that a
# task asked for, and one that was refused more must be replaced.
_KEPT_SHARE_KIB = 640
# Longer than any search may take, and no longer than its job is kept in Redis.
_RESULTS_KEPT_SECONDS = 120


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


class _Mailbox(pidbox.Mailbox):
    """Answers an order of remote control at once, or not at all.

    Kombu tries until the broker is back. Meanwhile the worker would hear of nothing,
    not even that its own link is gone.
    """

    def _publish_reply(self, *args: Any, **options: Any) -> None:
        once = {"max_retries": 0}
        super()._publish_reply(*args, retry_policy=once, **options)  # type: ignore[no-untyped-call]


class _Control(Control):
    Mailbox = _Mailbox


def make_app(settings: Settings) -> Celery:
    """Return the Celery application; importing and making it does no I/O."""
    app = Celery(
        "logchord", broker=broker_url(settings), control=_Control, set_as_current=True
    )
    backend = f"{ChordBackend.__module__}:{ChordBackend.__name__}"
    app.conf.update(
        # The Redis of jobs: nobody waits for a result, it counts the headers of chords.
        result_backend=f"{backend}+{jobs_url(settings)}",
        result_expires=_RESULTS_KEPT_SECONDS,
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_publish_retry=False,
        # A prefork pool keeps both; a thread pool the hard one alone, by `Ending.hung`.
        task_time_limit=settings.work.task_hard_seconds,
        task_soft_time_limit=settings.work.task_soft_seconds,
        # Flower shows what workers say; to say it at each publishing too costs the
        # fan-out 1.5 of its 3.8 ms.
        task_send_sent_event=False,
        task_create_missing_queues=True,
        task_default_queue="chores",
        task_queues=[Queue(name) for name in sorted(QUEUES)],
        task_routes={name: {"queue": queue} for name, queue in QUEUE_OF.items()},
        worker_prefetch_multiplier=1,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_soft_shutdown_timeout=5,
        # A child that has once been this large is replaced after its task.
        worker_max_memory_per_child=settings.worker_memory_mb * _KEPT_SHARE_KIB,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A Redis that is full refuses what a worker declares, and has room later.
        broker_channel_error_retry=True,
        broker_transport_options={
            "ack_emulation": False,
            "priority_steps": [0],
            # A publisher is told at once that the broker is away, not after 6 s.
            "max_retries": 0,
            "health_check_interval": 5,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "socket_keepalive": True,
        },
        enable_utc=True,
        timezone="UTC",
    )
    return app


def count_messages(app: Celery, queue_names: Sequence[str]) -> dict[str, int]:
    """Count the messages that lie in each queue."""
    with translate_broker_errors(), app.connection_for_read() as link:
        client = link.default_channel.client
        return {name: int(client.llen(name)) for name in queue_names}
