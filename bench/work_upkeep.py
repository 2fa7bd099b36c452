"""What the sweeper costs while nothing is due, and over a backlog that nobody works."""

import time
from dataclasses import dataclass
from typing import LiteralString

import psutil
import psycopg
from psycopg import Connection

from bench import work_rows
from bench.rig import Ground, cpu_seconds, running
from shared.messaging.stage_names import INDEX_STAGE

_SETTLE_SECONDS = 5.0
_SESSIONS: LiteralString = """
    SELECT pid, application_name LIKE '%%sweeper%%' FROM pg_stat_activity
     WHERE application_name LIKE 'logchord upkeep%%'"""


@dataclass(frozen=True)
class Idle:
    """Shares of one core, in percent."""

    backlog: int
    # The sweeper's own session in the database.
    sweeper: float
    # The process with all its duties, and all of their sessions.
    upkeep: float


def shares(ground: Ground, backlogs: list[int], seconds: float) -> list[Idle]:
    """Let upkeep run over each backlog with no worker there."""
    return [_share(ground, count, seconds) for count in backlogs]


def _share(ground: Ground, backlog: int, seconds: float) -> Idle:
    with psycopg.connect(ground.url, autocommit=True) as conn:
        conn.execute("TRUNCATE work")
        if backlog:
            work_rows.fill(conn, backlog, stage=INDEX_STAGE)
        with running(("serve", "upkeep"), ground) as upkeep:
            time.sleep(_SETTLE_SECONDS)
            before = _spent(conn, upkeep)
            time.sleep(seconds)
            after = _spent(conn, upkeep)
    sweeper, all_of_it = (
        round((a - b) * 100 / seconds, 2) for a, b in zip(after, before, strict=True)
    )
    return Idle(backlog, sweeper, all_of_it)


def _spent(conn: Connection, upkeep: psutil.Process) -> tuple[float, float]:
    sessions = conn.execute(_SESSIONS).fetchall()
    of_sweeper = sum(_cpu(pid) for pid, is_sweeper in sessions if is_sweeper)
    return of_sweeper, cpu_seconds(upkeep) + sum(_cpu(pid) for pid, _ in sessions)


def _cpu(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
