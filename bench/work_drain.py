"""How fast real workers drain a backlog, and what lies in the broker meanwhile."""

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

import psycopg
from celery import Celery
from psycopg import Connection

from bench import work_rows
from bench.rig import Ground, running
from shared.messaging import nudges, task_names
from shared.messaging.celery_app import count_messages, make_app
from shared.messaging.stage_names import INDEX_STAGE
from shared.messaging.task_names import INDEX_ENTRIES
from shared.settings.settings import Settings

QUEUE = task_names.QUEUE_OF[INDEX_ENTRIES]
# A small backlog is gone before it can be measured: it comes again, so often.
REPEATS, ENOUGH = 10, 20_000
_POLL_SECONDS = 0.1
_READY_SECONDS = 120.0
_REPOSITORY = Path(__file__).parents[1]

_TABLE: LiteralString = """
    CREATE TABLE IF NOT EXISTS upserted (
        entry_id uuid PRIMARY KEY, times integer NOT NULL DEFAULT 1)"""
# From batch to batch, as they ended: the wait for the first nudge is not the drain's.
_PACE: LiteralString = """
    SELECT coalesce(sum(done), 0) - coalesce(min(first), 0),
           extract(epoch FROM max(at) - min(at)), coalesce(sum(done), 0)
      FROM (SELECT done, at, first_value(done) OVER (ORDER BY at) AS first
              FROM stage_outcome WHERE stage = %(stage)s) AS ended"""


@dataclass
class Drain:
    """What workers made of one backlog."""

    backlog: int
    done: int = 0
    seconds: float = 0.0
    most_messages: int = 0
    worked_twice: int = 0
    # What workers and upkeep complained of, in the run so far.
    troubles: dict[str, int] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        """Entries a second."""
        return self.done / max(self.seconds, 1e-9)


def drains(ground: Ground, backlogs: list[int], seconds: float) -> list[Drain]:
    """Drain each backlog by the same workers, nudged by upkeep."""
    ground.environment["PYTHONPATH"] = str(_REPOSITORY)
    with ExitStack() as ends:
        conn = ends.enter_context(psycopg.connect(ground.url, autocommit=True))
        conn.execute(_TABLE)
        ends.enter_context(running(("serve", "upkeep"), ground))
        worker = (sys.executable, "-m", "bench.upsert_worker")
        ends.enter_context(running((QUEUE,), ground, worker))
        _wait_for_workers(conn, ground.home)
        return [_drained(conn, ground, count, seconds) for count in backlogs]


def _drained(conn: Connection, ground: Ground, backlog: int, seconds: float) -> Drain:
    drain = Drain(backlog)
    app = make_app(Settings.load(ground.environment))
    for _ in range(REPEATS):
        conn.execute("TRUNCATE upserted")
        work_rows.fill(conn, backlog, stage=INDEX_STAGE)
        for _ in range(nudges.NUDGES_PER_PROCESS):
            nudges.send_nudge(app, INDEX_STAGE)
        _watch(conn, app, drain, time.monotonic() + seconds)
        done, took, _ = _pace(conn)
        drain.done += done
        drain.seconds += took
        row = conn.execute("SELECT count(*) FROM upserted WHERE times > 1").fetchone()
        drain.worked_twice += int(row[0]) if row else 0
        if drain.done >= ENOUGH or drain.seconds >= seconds:
            break
    drain.troubles = _troubles(ground.home)
    return drain


def _troubles(home: Path) -> dict[str, int]:
    """Count the warnings and errors of every process, by event."""
    lines = [
        json.loads(line)
        for log in home.glob("*.log")
        for line in log.read_text("utf-8").splitlines()
        if line.startswith("{")
    ]
    serious = [one for one in lines if one.get("level") in {"warning", "error"}]
    return dict(Counter(f"{one['event']} {one.get('code', '')}" for one in serious))


def _watch(conn: Connection, app: Celery, drain: Drain, until: float) -> None:
    while _pace(conn)[2] < drain.backlog and time.monotonic() < until:
        waiting = count_messages(app, [QUEUE])[QUEUE]
        drain.most_messages = max(drain.most_messages, waiting)
        time.sleep(_POLL_SECONDS)


def _pace(conn: Connection) -> tuple[int, float, int]:
    row = conn.execute(_PACE, {"stage": INDEX_STAGE}).fetchone()
    assert row is not None
    return int(row[0]), float(row[1] or 0), int(row[2])


def _wait_for_workers(conn: Connection, home: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    asked = "SELECT count(*) FROM worker_process WHERE %(queue)s = ANY (queues)"
    while conn.execute(asked, {"queue": QUEUE}).fetchone() == (0,):
        if time.monotonic() > deadline:
            said = (home / f"{QUEUE}.log").read_text("utf-8")
            raise TimeoutError(f"The bench's worker did not come up:\n{said[-2000:]}")
        time.sleep(_POLL_SECONDS)
