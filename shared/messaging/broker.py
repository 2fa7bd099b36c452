"""Names of tasks and queues, the Celery application, nudges and the fan-out.

A message is a nudge: it says where due work lies in Postgres. Losing one costs time.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import redis
import redis.asyncio
from celery import Celery, group
from kombu.entity import Queue
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared.errors import CapacityError, ConfigurationError
from shared.log import get_logger
from shared.settings.settings import Settings

log = get_logger()

EXTRACT_METADATA = "enhance.extract_metadata"
EXTRACT_ATTACHMENT = "enhance.extract_attachment"
PLACE_ENTRIES = "enhance.place_entries"
EMBED_ENTRIES = "enhance.embed_entries"
RUN_STAGE = "enhance.run_stage"
INDEX_ENTRIES = "index.index_entries"
RUN_BRANCH = "search.run_branch"
POLL_SOURCE = "ingest.poll_source"
RECONCILE_SOURCE = "chores.reconcile_source"
REPARSE_SOURCE = "chores.reparse_source"
EXPIRE = "chores.expire"
RECONCILE_INDEX = "chores.reconcile_index"
REBUILD_INDEX = "chores.rebuild_index"
REBUILD_KNOWLEDGE = "chores.rebuild_knowledge"
REEMBED_MODEL = "chores.reembed_model"
REMOVE_FILES = "chores.remove_files"
RETIRE_ENTRIES = "chores.retire_entries"
RENEW_TEXTS = "chores.renew_texts"
COUNT_WORDS = "chores.count_words"
MINE_GLOSSARY = "chores.mine_glossary"

_CHORES = (
    *(RECONCILE_SOURCE, REPARSE_SOURCE, EXPIRE, RECONCILE_INDEX, REBUILD_INDEX),
    *(REEMBED_MODEL, REMOVE_FILES, RETIRE_ENTRIES, RENEW_TEXTS, COUNT_WORDS),
    *(REBUILD_KNOWLEDGE, MINE_GLOSSARY),
)
QUEUE_OF = {
    EXTRACT_METADATA: "enhance.metadata",
    EXTRACT_ATTACHMENT: "enhance.metadata",
    PLACE_ENTRIES: "enhance.metadata",
    EMBED_ENTRIES: "enhance.embed",
    RUN_STAGE: "enhance.metadata",
    INDEX_ENTRIES: "index",
    RUN_BRANCH: "search",
    POLL_SOURCE: "ingest",
    **dict.fromkeys(_CHORES, "chores"),
}

# What reads all that match has a process of its own: no reader waits behind it.
SEARCH_QUEUE, WIDE_SEARCH_QUEUE = QUEUE_OF[RUN_BRANCH], "search.bulk"
QUEUES = {*QUEUE_OF.values(), WIDE_SEARCH_QUEUE}

_TASK_OF_RUN = {"reconcile": RECONCILE_SOURCE, "reparse": REPARSE_SOURCE}

METADATA_STAGE = "metadata"
ATTACHMENTS_STAGE = "attachments"  # of entries with files alone
DUPLICATES_STAGE = "duplicates"  # due when the text of an entry has been read
INDEX_STAGE = "index"
# Until these have run, no entry is found by its words.
FOUND_BY = (METADATA_STAGE, INDEX_STAGE)
EMBED_PREFIX = "embed:"

# Whatever else is due is a stage that finds things, by its name.
_TASK_OF_STAGE = {
    METADATA_STAGE: EXTRACT_METADATA,
    ATTACHMENTS_STAGE: EXTRACT_ATTACHMENT,
    DUPLICATES_STAGE: PLACE_ENTRIES,
    INDEX_STAGE: INDEX_ENTRIES,
}

NUDGE_IDS = 128
NUDGES_PER_PROCESS = 2
NUDGE_EXPIRES_SECONDS = 600
_NUDGE_BACKLOG = 1000
# Five eighths of a megabyte, in KiB: what is large by then is not all in pages that a
# task asked for, and one that was refused more must be replaced.
_KEPT_SHARE_KIB = 640

# kombu's channel, the jobs of searches, the rate buckets: one server, three databases.
_JOBS_DATABASE, _LIMITER_DATABASE = 1, 2
LIMITER_TIMEOUT_SECONDS = 0.05


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn a broker that cannot be reached, or refuses, into 503."""
    try:
        yield
    except (OperationalError, redis.RedisError, OSError) as exc:
        raise CapacityError(
            "The message broker is not reachable; try again shortly.",
            code="broker_unavailable",
            technical=f"{type(exc).__name__}: {exc}",
            retry_after_seconds=1,
        ) from exc


def embed_stage(model: str) -> str:
    """Return the stage that makes the vectors of one model due."""
    return f"{EMBED_PREFIX}{model}"


def task_of(stage: str) -> tuple[str, tuple[str, ...]]:
    """Return the task that works a stage, and what it takes before the ids."""
    if stage.startswith(EMBED_PREFIX):
        return EMBED_ENTRIES, (stage.removeprefix(EMBED_PREFIX),)
    if stage in _TASK_OF_STAGE:
        return _TASK_OF_STAGE[stage], ()
    return RUN_STAGE, (stage,)


def chore_task(kind: str) -> str:
    """Return the task that does a kind of chore, if this release has one."""
    return f"chores.{kind}"


def make_app(settings: Settings) -> Celery:
    """Return the Celery application; importing and making it does no I/O."""
    url = broker_url(settings)
    app = Celery("logchord", broker=url, set_as_current=True)
    app.conf.update(
        # Nobody waits for a result: a group with a backend subscribes to each of
        # its tasks, 0.7 ms of processor time for nothing.
        result_backend=None,
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_publish_retry=False,
        # Of a prefork pool; a threads pool has only the hard one, by `Ending.hung`.
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


def broker_url(settings: Settings) -> str:
    """Return where nudges go."""
    if settings.broker_url is None:
        message = "No broker is known: run `logchord up`, or set BROKER_URL."
        raise ConfigurationError(message, config_key="BROKER_URL")
    return settings.broker_url.get_secret_value()


def search_url(settings: Settings) -> str:
    """Return where searches keep their jobs: a Redis of their own, or the broker's."""
    if settings.search_redis_url is not None:
        return settings.search_redis_url.get_secret_value()
    return broker_url(settings)


def _with_database(url: str, database: int) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}"))


def jobs_redis(settings: Settings, *, timeout_seconds: float = 5.0) -> redis.Redis:
    """Return the client of jobs in flight; bounded in time, tried once."""
    return redis.Redis.from_url(
        _with_database(search_url(settings), _JOBS_DATABASE),
        socket_timeout=timeout_seconds,
        socket_connect_timeout=min(2.0, timeout_seconds),
        socket_keepalive=True,
        health_check_interval=5,
        retry=Retry(NoBackoff(), 1),
        decode_responses=True,
    )


def mailbox_redis(settings: Settings) -> redis.asyncio.Redis:
    """Return the mailbox loop's own client: a blocked pop is never retried."""
    return redis.asyncio.Redis.from_url(
        _with_database(search_url(settings), _JOBS_DATABASE),
        socket_timeout=None,
        socket_connect_timeout=2.0,
        socket_keepalive=True,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def brief_redis(settings: Settings) -> redis.asyncio.Redis:
    """Return a client of rate limits and sessions, which gives up after 50 ms."""
    return redis.asyncio.Redis.from_url(
        _with_database(broker_url(settings), _LIMITER_DATABASE),
        socket_timeout=LIMITER_TIMEOUT_SECONDS,
        socket_connect_timeout=LIMITER_TIMEOUT_SECONDS,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
        decode_responses=True,
    )


def _send(app: Celery, name: str, args: Sequence[object]) -> None:
    with translated_errors():
        app.send_task(
            name,
            args=args,
            queue=QUEUE_OF[name],
            expires=NUDGE_EXPIRES_SECONDS,
            ignore_result=True,
            retry=False,
        )


def send_nudge(app: Celery, stage: str, entry_ids: Sequence[UUID] = ()) -> None:
    """Publish one nudge; raises when the broker cannot be reached."""
    name, first = task_of(stage)
    _send(app, name, [*first, [str(entry_id) for entry_id in entry_ids]])


def send_chore(app: Celery, kind: str, maintenance_id: UUID) -> None:
    """Publish that a chore may go on; raises when the broker cannot be reached."""
    _send(app, chore_task(kind), [str(maintenance_id)])


def run_task(kind: str) -> str:
    """Return the task that goes on with a kind of run of a source."""
    return _TASK_OF_RUN.get(kind, POLL_SOURCE)


def send_run(app: Celery, source: str, kind: str) -> None:
    """Publish that a run of a source is due; raises when the broker is away."""
    name = run_task(kind)
    _send(app, name, [source, kind] if name == POLL_SOURCE else [source])


class Nudger:
    """Publishes nudges from a thread of its own, never in anybody's way."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._waiting: queue.Queue[tuple[str, list[UUID]] | None] = queue.Queue(
            _NUDGE_BACKLOG
        )
        self._thread: threading.Thread | None = None
        self._start = threading.Lock()

    def nudge(self, stage: str, entry_ids: Sequence[UUID]) -> None:
        """Say that these entries are due; never raises, never waits."""
        for start in range(0, len(entry_ids), NUDGE_IDS):
            if not self._put(stage, list(entry_ids[start : start + NUDGE_IDS])):
                return

    def again(self, stage: str) -> None:
        """Say that more of a stage is due, behind all that is said already."""
        self._put(stage, [])

    def _put(self, stage: str, entry_ids: list[UUID]) -> bool:
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="nudger", daemon=True
                )
                self._thread.start()
        try:
            self._waiting.put_nowait((stage, entry_ids))
        except queue.Full:
            # The rows are due all the same: the sweeper will find them.
            log.warning("nudge_dropped", stage=stage, waiting=_NUDGE_BACKLOG)
            return False
        return True

    def stop(self) -> None:
        """Publish what waits, for two seconds at most."""
        with self._start:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=1)
        except queue.Full:
            return
        thread.join(timeout=2)

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            stage, entry_ids = item
            try:
                send_nudge(self._app, stage, entry_ids)
            except CapacityError as exc:
                log.warning("nudge_lost", stage=stage, technical=exc.technical)


def dispatch(
    app: Celery,
    job_id: UUID,
    branches: int,
    queue_name: str,
    headers: Mapping[str, Any],
) -> None:
    """Send every branch of a flat search as one group, through one producer."""
    signatures = [
        app.signature(RUN_BRANCH, (str(job_id), number)).set(
            queue=queue_name, ignore_result=True
        )
        for number in range(branches)
    ]
    with translated_errors(), app.producer_or_acquire() as producer:
        group(signatures, app=app).apply_async(
            headers=dict(headers), producer=producer, add_to_parent=False
        )


def waiting(app: Celery, queue_names: Sequence[str]) -> dict[str, int]:
    """Return how many messages lie in each queue."""
    with translated_errors(), app.connection_for_read() as link:
        client = link.default_channel.client
        return {name: int(client.llen(name)) for name in queue_names}


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
                with translated_errors():
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
