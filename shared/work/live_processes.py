"""Who is alive: each process says so in a row, so it is known with Redis down too."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.ids import uuid7
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import connect, translate_database_errors

log = get_logger()

REPORT_SECONDS = 5.0
STALE_SECONDS = 15.0
_FORGET_SECONDS = 3600.0

_REPORT: LiteralString = """
    INSERT INTO worker_process (id, kind, queues, pid, host, version, models)
    VALUES (%(id)s, %(kind)s, %(queues)s, %(pid)s, %(host)s, %(version)s, %(models)s)
        ON CONFLICT (id) DO UPDATE SET seen_at = now(), models = excluded.models"""
_LEAVE: LiteralString = "DELETE FROM worker_process WHERE id = %(id)s"
_FORGET: LiteralString = """
    DELETE FROM worker_process
     WHERE seen_at < now() - make_interval(secs => %(seconds)s)"""
_LISTING: LiteralString = """
    SELECT id, kind, queues, pid, host, version, models, since, seen_at,
           seen_at < now() - make_interval(secs => %(stale)s) AS stale
      FROM worker_process
     WHERE seen_at >= now() - make_interval(secs => %(forget)s)
     ORDER BY kind, since, id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a process reports of itself."""

    kind: str
    queues: Sequence[str]
    pid: int
    host: str
    version: str
    id: UUID = field(default_factory=uuid7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Identity):
    """A process as it last reported itself."""

    since: datetime
    seen_at: datetime
    stale: bool
    # What it has loaded; None: it makes no vectors, or is of a release that tells none.
    models: list[str] | None = None


def list_processes(conn: Connection) -> list[Process]:
    """Return every process that has reported within the hour."""
    values = {"stale": STALE_SECONDS, "forget": _FORGET_SECONDS}
    return fetch_all(conn, Process, _LISTING, values)


def missing(known: Sequence[Process]) -> list[Process]:
    """Return the silent processes that none of their kind was started after, there."""
    heirs = sorted(known, key=lambda one: one.since)
    lost = []
    for gone in sorted(known, key=lambda one: one.seen_at):
        if not gone.stale:
            continue
        for heir in heirs:
            alike = (heir.kind, heir.host) == (gone.kind, gone.host)
            if alike and heir.since >= gone.seen_at:
                # It stands for one of them only.
                heirs.remove(heir)
                break
        else:
            lost.append(gone)
    return lost


# What says which models are loaded, on the connection of the report.
Models = Callable[[Connection], Sequence[str]]


class Reporter:
    """Reports one process every few seconds, over a connection of its own."""

    def __init__(
        self, url: str, identity: Identity, *, models: Models | None = None
    ) -> None:
        self._models = models
        self._url = url
        self._identity = identity
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reporter", daemon=True)

    def start(self) -> None:
        """Begin to report."""
        self._thread.start()

    def stop(self) -> None:
        """Take the row away: this process ends as it should."""
        self._stop.set()
        self._thread.join(timeout=3)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._report_until_stopped()
            except (DatabaseConnectionError, DatabaseQueryError) as exc:
                log.warning("process_not_reported", error=exc.error_code)
                self._stop.wait(1.0)

    def _report_until_stopped(self) -> None:
        me = self._identity
        values = {**asdict(me), "queues": list(me.queues)}
        with (
            translate_database_errors(),
            connect(
                self._url,
                application=f"report {me.kind}",
                autocommit=True,
                options="-c statement_timeout=4000 -c lock_timeout=2000",
            ) as conn,
        ):
            conn.execute(_FORGET, {"seconds": _FORGET_SECONDS})
            while True:
                loaded = None if self._models is None else list(self._models(conn))
                conn.execute(_REPORT, {**values, "models": loaded})
                if self._stop.wait(REPORT_SECONDS):
                    conn.execute(_LEAVE, {"id": me.id})
                    return
