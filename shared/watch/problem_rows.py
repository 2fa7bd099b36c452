"""Problems as rows: each is told once when it has lasted, and once when it is over."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_one, fetch_value
from shared.watch.alert_rows import BACKOFF_SECONDS, MOST_ATTEMPTS
from shared.work.diagnosis import Problem
from shared.work.live_processes import STALE_SECONDS

# What is over sooner wakes nobody, and what comes back sooner was never over.
LASTS_SECONDS = 120.0
OVER_SECONDS = 300.0
_KEPT_DAYS = 7

# Until it is told its sentence is that of now.
_SEEN: LiteralString = """
    INSERT INTO operations_problem AS p (id, about, message)
    SELECT n.id, n.about, n.message
      FROM jsonb_to_recordset(%(problems)s::jsonb)
           AS n (id uuid, about text, message text)
     ORDER BY n.about
        ON CONFLICT (about) WHERE ended_at IS NULL DO UPDATE
       SET gone_at = NULL,
           message = CASE WHEN p.is_told THEN p.message ELSE excluded.message END
     WHERE p.gone_at IS NOT NULL OR NOT p.is_told"""
# A silent worker is forgotten after an hour; back it is only when its kind is.
_GONE: LiteralString = """
    UPDATE operations_problem SET gone_at = clock_timestamp()
     WHERE ended_at IS NULL AND gone_at IS NULL AND about <> ALL (%(about)s)
       AND (about NOT LIKE 'worker %%' OR EXISTS (
            SELECT FROM worker_process w
             WHERE about = 'worker ' || w.kind
               AND w.seen_at >= now() - make_interval(secs => %(stale)s)))"""
_FORGET: LiteralString = """
    DELETE FROM operations_problem
     WHERE (NOT is_told AND due_at IS NULL
            AND gone_at <= clock_timestamp() - make_interval(secs => %(over)s))
        OR ended_at < clock_timestamp() - make_interval(days => %(kept)s)"""
_BEGUN: LiteralString = """
    UPDATE operations_problem SET due_at = clock_timestamp()
     WHERE NOT is_told AND due_at IS NULL AND gone_at IS NULL
       AND since <= clock_timestamp() - make_interval(secs => %(lasts)s)"""
# Whose beginning could not be told yet is told of it first.
_ENDED: LiteralString = """
    UPDATE operations_problem
       SET ended_at = gone_at, due_at = coalesce(due_at, clock_timestamp())
     WHERE ended_at IS NULL
       AND gone_at <= clock_timestamp() - make_interval(secs => %(over)s)"""
# Whoever dies while sending has made an attempt: it is sent again after the wait.
_CLAIM: LiteralString = """
    UPDATE operations_problem p
       SET attempts = p.attempts + 1,
           due_at = clock_timestamp() + make_interval(
               secs => %(first)s * 2 ^ least(p.attempts + 1, %(most)s))
     WHERE p.id = (SELECT d.id FROM operations_problem d
                    WHERE d.due_at <= clock_timestamp()
                    ORDER BY d.due_at, d.id
                    LIMIT 1
                      FOR UPDATE SKIP LOCKED)
    RETURNING p.id, p.about, p.message, p.since, p.ended_at, p.is_told, p.due_at"""
_BEGINNING_TOLD: LiteralString = """
    UPDATE operations_problem
       SET is_told = true, attempts = 0, last_error = NULL,
           due_at = CASE WHEN ended_at IS NOT NULL THEN clock_timestamp() END
     WHERE id = %(id)s"""
_END_TOLD: LiteralString = "DELETE FROM operations_problem WHERE id = %(id)s"
# Whatever else is due would fail likewise: it waits as long.
_FAILED: LiteralString = """
    UPDATE operations_problem
       SET due_at = %(until)s,
           last_error = CASE WHEN id = %(id)s THEN %(error)s ELSE last_error END
     WHERE id = %(id)s OR due_at <= clock_timestamp()"""
_ERROR: LiteralString = """
    SELECT last_error FROM operations_problem
     WHERE last_error IS NOT NULL ORDER BY id DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem of which somebody is to be told: that it began, or that it is over."""

    id: UUID
    about: str
    message: str
    since: datetime
    ended_at: datetime | None
    # Its beginning is: this time its end is to be told.
    is_told: bool
    due_at: datetime


def note_problems(conn: Connection, problems: Sequence[Problem]) -> None:
    """Store which problems there are now, and which messages that makes due."""
    named = {one.about: one.message for one in reversed(problems)}
    rows = [
        {"id": str(uuid7()), "about": about, "message": message}
        for about, message in named.items()
    ]
    given: dict[str, Any] = {
        "problems": json.dumps(rows),
        "about": list(named),
        "lasts": LASTS_SECONDS,
        "over": OVER_SECONDS,
        "stale": STALE_SECONDS,
        "kept": _KEPT_DAYS,
    }
    with conn.transaction():
        for statement in (_SEEN, _GONE, _FORGET, _BEGUN, _ENDED):
            conn.execute(statement, given)


def claim(conn: Connection) -> ProblemRow | None:
    """Take one that a message is due of; unless it is noted, it is due again later."""
    given = {"first": BACKOFF_SECONDS, "most": MOST_ATTEMPTS}
    return fetch_one(conn, ProblemRow, _CLAIM, given)


def note_told(conn: Connection, row: ProblemRow) -> None:
    """Store that its message was delivered."""
    conn.execute(_END_TOLD if row.is_told else _BEGINNING_TOLD, {"id": row.id})


def note_failed(conn: Connection, row: ProblemRow, error: str) -> None:
    """Store why its message was not delivered; others wait as long as it does."""
    values = {"id": row.id, "until": row.due_at, "error": error[:500]}
    conn.execute(_FAILED, values)


def find_error(conn: Connection) -> str | None:
    """Return why the latest message could not be delivered so far."""
    return fetch_value(conn, _ERROR)
