"""Nudges: messages that say where due work lies in Postgres. Losing one costs time."""

import queue
import threading
from collections.abc import Sequence
from uuid import UUID

from celery import Celery

from shared.errors import CapacityError
from shared.log import get_logger
from shared.messaging import task_names
from shared.messaging.broker_errors import translate_broker_errors

log = get_logger()

NUDGE_IDS = 128
NUDGES_PER_PROCESS = 2
NUDGE_EXPIRES_SECONDS = 600
_NUDGE_BACKLOG = 1000


def _send(app: Celery, name: str, args: Sequence[object]) -> None:
    with translate_broker_errors():
        app.send_task(
            name,
            args=args,
            queue=task_names.QUEUE_OF[name],
            expires=NUDGE_EXPIRES_SECONDS,
            ignore_result=True,
            retry=False,
        )


def send_nudge(app: Celery, stage: str, entry_ids: Sequence[UUID] = ()) -> None:
    """Publish a nudge; raises when the broker cannot be reached."""
    name, first = task_names.task_of(stage)
    _send(app, name, [*first, [str(entry_id) for entry_id in entry_ids]])


def send_chore(app: Celery, kind: str, maintenance_id: UUID) -> None:
    """Publish that a chore may go on; raises when the broker cannot be reached."""
    _send(app, task_names.chore_task(kind), [str(maintenance_id)])


def send_delivery(app: Celery) -> None:
    """Publish that alerts are to be sent; raises when the broker is away."""
    _send(app, task_names.DELIVER_ALERTS, [])


def send_run(app: Celery, source: str, kind: str) -> None:
    """Publish that a run of a source is due; raises when the broker is away."""
    name = task_names.run_task(kind)
    _send(app, name, [source, kind] if name == task_names.POLL_SOURCE else [source])


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
        """Queue nudges for these entries; never raises, never waits."""
        for start in range(0, len(entry_ids), NUDGE_IDS):
            if not self._put(stage, list(entry_ids[start : start + NUDGE_IDS])):
                return

    def again(self, stage: str) -> None:
        """Queue a nudge without entries, behind all that are queued already."""
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
