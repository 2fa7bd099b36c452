"""Deletes expired rows of four tables, in short steps.

Each step deletes a bounded number of rows: a table that nobody has tidied for a year
takes many short transactions, never a long one.
"""

from collections.abc import Callable, Mapping
from typing import Any, LiteralString

from psycopg import Connection

from shared.access import idempotency
from shared.work import chore_records
from shared.work.chore_records import Progress

STEP_ROWS = 1000
MESSAGES_KEPT = 1000

# Whoever sends rubbish without end must not fill the disk; the newest tell enough.
_MESSAGES: LiteralString = """
    DELETE FROM quarantine WHERE id = ANY (ARRAY(
        SELECT id FROM quarantine
         WHERE entry_id IS NULL AND stage LIKE 'message:%%'
         ORDER BY last_at DESC, id DESC
        OFFSET %(kept)s
         LIMIT %(limit)s))"""
# Loops of an older release, which nobody turns any more.
_LOOPS: LiteralString = """
    DELETE FROM upkeep_loop WHERE name = ANY (ARRAY(
        SELECT name FROM upkeep_loop
         WHERE last_turn_at < now() - interval '1 day'
         ORDER BY name
         LIMIT %(limit)s))"""

Forget = Callable[[Connection], int]


def forget(
    conn: Connection,
    cursor: Mapping[str, Any] | None,
    done: int,
    *,
    idempotency_hours: int,
) -> Progress:
    """Delete a step's expired rows of the cursor's table, then of the next tables.

    How many there are to come is not known before they are gone.
    """
    steps: dict[str, Forget] = {
        "idempotency": lambda conn: idempotency.forget(
            conn, hours=idempotency_hours, limit=STEP_ROWS
        ),
        "quarantine": _forget_messages,
        "maintenance": lambda conn: chore_records.forget(conn, limit=STEP_ROWS),
        "upkeep_loop": lambda conn: conn.execute(_LOOPS, {"limit": STEP_ROWS}).rowcount,
    }
    names = list(steps)
    # A name of another release is none of ours: from the beginning, then.
    name = cursor["table"] if cursor and cursor["table"] in steps else names[0]
    gone = steps[name](conn)
    done += gone
    later = [name] if gone >= STEP_ROWS else names[names.index(name) + 1 :]
    if later:
        return Progress({"table": later[0]}, done)
    return Progress(None, done, total=done)


def _forget_messages(conn: Connection) -> int:
    return conn.execute(_MESSAGES, {"kept": MESSAGES_KEPT, "limit": STEP_ROWS}).rowcount
