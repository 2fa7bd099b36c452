"""Messages that no task can be made of: what is known of them is kept, and counted.

One row stands for all of the same queue, task and fault, and a queue has a bounded
number of rows: whoever can put a message on a queue could fill the table otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.errors import MessageRejectedError
from shared.ids import uuid7

MAX_ROWS_PER_QUEUE = 100
MAX_NAME_CHARS = 200

_STAGE_PREFIX = "message:"
_OTHERS = "others"

# Two processes must not both take the last row that a queue may have.
_ONE_AT_A_TIME: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended('refused ' || %(stage)s, 0))"""
# What comes after a queue's last row is counted in one more, so that nothing is unsaid.
_RECORD: LiteralString = """
    WITH place AS (
        SELECT CASE WHEN EXISTS (SELECT FROM quarantine WHERE message_key = %(key)s)
                      OR (SELECT count(*) FROM quarantine
                           WHERE entry_id IS NULL AND stage = %(stage)s) < %(most)s
                    THEN %(key)s ELSE %(others)s END AS key)
    INSERT INTO quarantine (id, stage, error, excerpt, times, message_key)
    SELECT %(id)s, %(stage)s, %(error)s::jsonb, %(excerpt)s, %(times)s, place.key
      FROM place
        ON CONFLICT (message_key) WHERE message_key IS NOT NULL DO UPDATE
       SET times = quarantine.times + excluded.times, error = excluded.error,
           excerpt = excluded.excerpt, last_at = now()"""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message as far as it may be told: never its arguments."""

    queue: str
    task: str
    message_id: str
    reason: str

    @property
    def key(self) -> str:
        """Return the key that messages refused for the same reason share."""
        return f"{self.queue}\n{self.task}\n{self.reason}"


def refused(queue: object, task: object, message_id: object, reason: str) -> Refused:
    """Return a refused message's names, made printable whatever strangers wrote."""
    return Refused(
        printable_name(queue, "unknown"),
        printable_name(task, "no task"),
        printable_name(message_id, ""),
        reason,
    )


def printable_name(value: object, otherwise: str) -> str:
    """Return a name that can be stored and printed, or what stands for none."""
    if not isinstance(value, str) or not value:
        return otherwise
    short = value[:MAX_NAME_CHARS]
    return "".join(char if char.isprintable() else "\ufffd" for char in short)


def record(conn: Connection[TupleRow], found: Iterable[tuple[Refused, int]]) -> None:
    """Count each kind of message into its row."""
    for one, times in sorted(found, key=lambda pair: pair[0].key):
        stage = f"{_STAGE_PREFIX}{one.queue}"
        error = MessageRejectedError(technical=one.reason)
        conn.execute(_ONE_AT_A_TIME, {"stage": stage})
        conn.execute(
            _RECORD,
            {
                "id": uuid7(),
                "stage": stage,
                "key": _digest(one.key),
                "others": _digest(f"{one.queue}\n{_OTHERS}"),
                "most": MAX_ROWS_PER_QUEUE,
                "error": error.as_json(admin=True),
                "excerpt": f"{one.task} {one.message_id}".strip(),
                "times": times,
            },
        )


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
