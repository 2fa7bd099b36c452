"""Writes down refused messages from a thread of its own, each kind once with a count.

A flood of them, or a database that is away, then stands in no good message's way.
"""

from __future__ import annotations

import threading
from collections import Counter

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import connect, translate_database_errors
from shared.work import refused_messages
from shared.work.refused_messages import Refused

log = get_logger()

MAX_KINDS = 500
_PAUSE_SECONDS = 1.0
_STOP_SECONDS = 3.0


class Refusals:
    """The refused messages of a worker that are still to be stored; bounded."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._found: Counter[str] = Counter()
        self._newest: dict[str, Refused] = {}
        self._changed = threading.Condition()
        self._ending = False
        self._thread: threading.Thread | None = None

    def note(self, queue: object, task: object, message_id: object, why: str) -> None:
        """Note a refused message; never waits for the database, never raises."""
        one = refused_messages.refused(queue, task, message_id, why)
        with self._changed:
            known = one.key in self._newest
            if not known and len(self._newest) >= MAX_KINDS:
                one = refused_messages.refused(
                    queue, "others", "", "is one of too many kinds"
                )
            self._newest[one.key] = one
            self._found[one.key] += 1
            # A thousand of a kind are one line here, too.
            if not known:
                log.warning(
                    "message_rejected", queue=one.queue, task_name=one.task, reason=why
                )
            self._start()
            self._changed.notify()

    def stop(self) -> None:
        """Write down what waits, for three seconds at most."""
        with self._changed:
            self._ending = True
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join(_STOP_SECONDS)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="refusals", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        while found := self._next():
            try:
                self._write(found)
            except (DatabaseConnectionError, DatabaseQueryError) as exc:
                log.error("messages_not_recorded", code=exc.error_code)  # noqa: TRY400
                if self._keep_for_later(found):
                    return

    def _next(self) -> list[tuple[Refused, int]]:
        """Take everything that waits; nothing is left only at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._found or self._ending)
            found = [(self._newest[key], times) for key, times in self._found.items()]
            self._found.clear()
            self._newest.clear()
        return found

    def _write(self, found: list[tuple[Refused, int]]) -> None:
        with (
            translate_database_errors(),
            connect(
                self._url,
                application="rejected messages",
                options="-c statement_timeout=2000",
            ) as conn,
        ):
            refused_messages.record(conn, found)

    def _keep_for_later(self, found: list[tuple[Refused, int]]) -> bool:
        """Put messages back, wait a little, and tell whether the worker ends."""
        with self._changed:
            for one, times in found:
                self._newest.setdefault(one.key, one)
                self._found[one.key] += times
            return self._changed.wait_for(lambda: self._ending, _PAUSE_SECONDS)
