"""A plain process: nudges what is due, ends overdue jobs, keeps partitions and index.

Each loop holds an advisory lock, so that a second upkeep stands by. None of them
needs the broker to be alive.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared import broker
from shared import log as logs
from shared.access import idempotency
from shared.due import outcomes, processes, quarantine, rows
from shared.due.outcomes import Budget
from shared.due.processes import Identity, Reporter
from shared.errors import CapacityError, OpenSearchError, WorkerLostError
from shared.jobs import closing, partitions
from shared.opensearch import filling
from shared.opensearch.client import make_client
from shared.postgres import Pool, connect, make_pool, translated_errors
from shared.settings import Settings
from shared.version import VERSION
from workers.context import budget, database_url
from workers.task import attempt

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

log = logs.get_logger()

SWEEP_GRACE_SECONDS = 1.0
FINISH_SECONDS = 1.0
RETENTION_SECONDS = 60.0
INDEX_SECONDS = 5.0
_STANDBY_SECONDS = 1.0
_LOCK_SPACE = 0x10C0

Turn = Callable[[Connection[TupleRow]], None]

_LOCK: LiteralString = "SELECT pg_try_advisory_lock(%(space)s, hashtext(%(name)s))"
_TURN: LiteralString = """
    INSERT INTO upkeep_loop (name, last_turn_at, holder)
    VALUES (%(name)s, now(), %(holder)s)
        ON CONFLICT (name) DO UPDATE
       SET last_turn_at = now(), holder = excluded.holder"""
# Loops of an older release, which nobody turns any more.
_FORGET_LOOPS: LiteralString = """
    DELETE FROM upkeep_loop WHERE last_turn_at < now() - interval '1 day'"""


class Loop:
    """One duty, done again and again by whoever holds its lock."""

    def __init__(self, url: str, name: str, every_seconds: float, turn: Turn) -> None:
        self._url = url
        self._name = name
        self._every = every_seconds
        self._turn = turn
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        while not self.stop.is_set():
            error = attempt(self._hold_and_turn)
            if error is not None:
                log.warning(
                    "upkeep_loop_failed",
                    loop=self._name,
                    code=error.error_code,
                    technical=error.technical,
                )
            self.stop.wait(_STANDBY_SECONDS)

    def _hold_and_turn(self) -> None:
        with (
            translated_errors(),
            connect(
                self._url,
                application=f"upkeep {self._name}",
                autocommit=True,
                options="-c statement_timeout=5000 -c lock_timeout=2000",
            ) as conn,
        ):
            while not self._is_mine(conn):
                if self.stop.wait(_STANDBY_SECONDS):
                    return
            log.info("upkeep_loop_held", loop=self._name)
            holder = f"{socket.gethostname()} {os.getpid()}"
            while True:
                began = time.monotonic()
                self._turn(conn)
                conn.execute(_TURN, {"name": self._name, "holder": holder})
                if self.stop.wait(max(0.0, began + self._every - time.monotonic())):
                    return

    def _is_mine(self, conn: Connection[TupleRow]) -> bool:
        # The lock goes with the connection: whoever loses it stands by from then on.
        values = {"space": _LOCK_SPACE, "name": self._name}
        row = conn.execute(_LOCK, values).fetchone()
        return row is not None and bool(row[0])


def sweep_due_work(conn: Connection[TupleRow], app: Any) -> None:
    """Nudge for what nobody works on, at most two messages per worker process."""
    late = rows.overdue(conn, grace_seconds=SWEEP_GRACE_SECONDS)
    if not late:
        return
    alive = [one for one in processes.listing(conn) if not one.stale]
    try:
        _nudge(app, late, alive)
    except CapacityError as exc:
        # The rows stay due; the next turn tries again.
        log.warning("sweep_without_broker", technical=exc.technical)


def put_aside_spent(conn: Connection[TupleRow], most: Budget) -> None:
    """Put aside what no worker survives; their leases are over."""
    with conn.transaction():
        for claim in quarantine.put_aside_spent(conn, most):
            log.warning(
                "entry_put_aside",
                entry_id=str(claim.entry_id),
                stage=claim.stage,
                attempts=claim.attempts,
                code=WorkerLostError.code,
            )


def _nudge(app: Any, late: list[str], alive: list[processes.Process]) -> None:
    queue_of = {stage: broker.QUEUE_OF[broker.task_of(stage)[0]] for stage in late}
    room = {
        name: broker.NUDGES_PER_PROCESS
        * max(1, sum(name in one.queues for one in alive))
        - length
        for name, length in broker.waiting(app, sorted(set(queue_of.values()))).items()
    }
    # In turn and in no fixed order: a stage that nobody can work on, such as that of
    # an older model, must not take the room of those it shares a queue with.
    shuffled = random.sample(late, len(late))
    for stage in shuffled * broker.NUDGES_PER_PROCESS:
        if room[queue_of[stage]] > 0:
            broker.send_nudge(app, stage)
            room[queue_of[stage]] -= 1


def loops(settings: Settings) -> list[Loop]:
    """Return every duty of upkeep."""
    url = database_url(settings)
    app = broker.make_app(settings)
    # Tried twice, it must leave a job the time to end within 5 s of its deadline.
    client = broker.jobs_redis(settings, timeout_seconds=1.0)

    def sweep(conn: Connection[TupleRow]) -> None:
        put_aside_spent(conn, budget(settings))
        sweep_due_work(conn, app)

    def finish(conn: Connection[TupleRow]) -> None:
        closing.finish_overdue_jobs(conn, client)

    def keep(conn: Connection[TupleRow]) -> None:
        partitions.keep(conn, retention_hours=settings.job_retention_hours)
        idempotency.forget(conn, hours=settings.idempotency_ttl_hours)
        outcomes.forget(conn)
        conn.execute(_FORGET_LOOPS)

    duties = [
        Loop(url, "sweeper", settings.work.sweep_seconds, sweep),
        Loop(url, "finisher", FINISH_SECONDS, finish),
        Loop(url, "retention", RETENTION_SECONDS, keep),
    ]
    # Without an address it has no index to keep; its other duties go on.
    engine = make_client(settings) if settings.opensearch_url is not None else None
    if engine is not None:
        pool = make_pool(url, application="upkeep index", size=1)

        def open_index(_: Connection[TupleRow]) -> None:
            keep_index(engine, settings.opensearch_index, pool)

        duties.append(Loop(url, "index", INDEX_SECONDS, open_index))
    return duties


def keep_index(engine: OpenSearch, base: str, pool: Pool) -> None:
    """Make the index that is not there, and due what it lacks; else do nothing.

    Without it every search would be degraded until the next entry comes in.
    """
    try:
        filling.ensure_filled(engine, base, pool)
        filling.catch_up(pool)
    except OpenSearchError as exc:
        # It may just be starting; the next turn looks again.
        log.info("index_not_looked_at", code=exc.error_code)


def main(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    logs.configure("upkeep", settings.log_level)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    reporter = Reporter(
        database_url(settings),
        Identity("upkeep", [], os.getpid(), socket.gethostname(), VERSION),
    )
    reporter.start()
    running = loops(settings)
    for loop in running:
        loop.thread.start()
    ended.wait()
    for loop in running:
        loop.stop.set()
    for loop in running:
        loop.thread.join(timeout=10)
    reporter.stop()


if __name__ == "__main__":
    main(Settings.load(os.environ))
