"""Stages that nobody may work on just now, and why: an outage, or a spent budget."""

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import Connection

from shared.errors import LogchordError
from shared.postgres.fetch_rows import fetch_all

BUDGET_SPENT = "quarantine_budget_spent"

_FIRST_SECONDS = 1.0
_CAP_SECONDS = 10.0

# One outage is told once, by whichever worker meets it first: a pause that is still in
# force is not made longer by the others.
_PAUSE: LiteralString = """
    INSERT INTO stage_pause AS p (stage, code, until, error)
    VALUES (%(stage)s, %(code)s,
            clock_timestamp() + make_interval(secs => %(first)s * %(jitter)s),
            %(error)s::jsonb)
        ON CONFLICT (stage) DO UPDATE
       SET code = excluded.code, failures = p.failures + 1, error = excluded.error,
           until = clock_timestamp() + make_interval(secs => %(jitter)s
               * least(%(cap)s, %(first)s * 2 ^ least(p.failures, 16)))
     WHERE p.until <= clock_timestamp()"""
_PAUSE_FOR_BUDGET: LiteralString = """
    INSERT INTO stage_pause (stage, code, error)
    VALUES (%(stage)s, %(code)s, %(error)s::jsonb)
        ON CONFLICT (stage) DO UPDATE
       SET code = excluded.code, until = NULL, error = excluded.error"""
_RESUME: LiteralString = "DELETE FROM stage_pause WHERE stage = %(stage)s"
_PROBE_SUCCEEDED: LiteralString = """
    DELETE FROM stage_pause WHERE stage = %(stage)s AND until <= clock_timestamp()"""
_PAUSED: LiteralString = """
    SELECT stage, code, failures, since, until, error FROM stage_pause
     ORDER BY stage LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Pause:
    """Why a stage rests, and until when; without an end, until it is released."""

    stage: str
    code: str
    failures: int
    since: datetime
    until: datetime | None
    error: dict[str, Any] | None


def pause(conn: Connection, stage: str, error: LogchordError) -> bool:
    """Pause a stage, longer after each failed probe; true if that is news."""
    values = {
        "stage": stage,
        "code": error.error_code,
        "first": _FIRST_SECONDS,
        "cap": _CAP_SECONDS,
        # Two stages of one backend do not come back at the same moment.
        "jitter": random.uniform(0.75, 1.25),  # noqa: S311 - not a secret
        "error": error.as_json(admin=True),
    }
    return conn.execute(_PAUSE, values).rowcount > 0


def pause_for_budget(conn: Connection, stage: str, error: LogchordError) -> None:
    """Pause a stage until somebody has looked and releases it."""
    values = {"stage": stage, "code": BUDGET_SPENT, "error": error.as_json(admin=True)}
    conn.execute(_PAUSE_FOR_BUDGET, values)


def resume(conn: Connection, stage: str) -> bool:
    """Resume a stage; true if it was paused."""
    return conn.execute(_RESUME, {"stage": stage}).rowcount > 0


def probe_succeeded(conn: Connection, stage: str) -> None:
    """End a pause that is over; one that a failed probe renewed stays."""
    conn.execute(_PROBE_SUCCEEDED, {"stage": stage})


def list_pauses(conn: Connection) -> list[Pause]:
    """Return every pause, those too that wait for a probe."""
    return fetch_all(conn, Pause, _PAUSED)
