"""What cannot be done is put aside with its reason, and never in anybody's way."""

from __future__ import annotations

import json
from typing import LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due.rows import Claim
from shared.errors import LogchordError
from shared.uuid7 import uuid7

_EXCERPT_CHARS = 200

_PUT_ASIDE: LiteralString = """
    INSERT INTO quarantine (id, tenant, entry_id, source, external_id, stage, revision,
                            attempts, error)
    SELECT %(id)s, e.tenant, e.id, e.source, e.external_id, %(stage)s, e.revision,
           %(attempts)s, %(error)s::jsonb
      FROM entry e
     WHERE e.id = %(entry_id)s AND e.tenant = %(tenant)s
        ON CONFLICT (entry_id, stage) DO UPDATE
       SET revision = excluded.revision, attempts = excluded.attempts,
           error = excluded.error, last_at = now()"""
# Only a claim that is still ours ends the row; a newer `want` stays due.
_END_ROW: LiteralString = """
    DELETE FROM work
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s
       AND want = claimed_want"""
_RELEASE_ROW: LiteralString = """
    UPDATE work SET claim = NULL, claimed_want = NULL, leased_until = NULL
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND claim = %(claim)s"""
_RECORD_MESSAGE: LiteralString = """
    INSERT INTO quarantine (id, stage, error, excerpt)
    VALUES (%(id)s, %(stage)s, %(error)s::jsonb, %(excerpt)s)"""
_CLEAR: LiteralString = """
    DELETE FROM quarantine
     WHERE entry_id = %(entry_id)s AND stage = %(stage)s AND tenant = %(tenant)s"""


def put_aside(conn: Connection[TupleRow], taken: Claim, error: LogchordError) -> bool:
    """Quarantine an entry's stage; false when the row moved on and stays due."""
    key = {"entry_id": taken.entry_id, "stage": taken.stage, "claim": taken.claim}
    if conn.execute(_END_ROW, key).rowcount == 0:
        conn.execute(_RELEASE_ROW, key)
        return False
    conn.execute(
        _PUT_ASIDE,
        {
            **key,
            "id": uuid7(),
            "tenant": taken.tenant,
            "attempts": taken.attempts,
            "error": json.dumps(error.body(admin=True)["error"]),
        },
    )
    return True


def clear(conn: Connection[TupleRow], taken: Claim) -> None:
    """Forget an older quarantine of a stage that has succeeded since."""
    conn.execute(
        _CLEAR,
        {"entry_id": taken.entry_id, "stage": taken.stage, "tenant": taken.tenant},
    )


def record_message(
    conn: Connection[TupleRow], queue: str, error: LogchordError, excerpt: str
) -> None:
    """Keep what is known of a message that no task could be made of."""
    conn.execute(
        _RECORD_MESSAGE,
        {
            "id": uuid7(),
            "stage": f"message:{queue}"[:255],
            "error": json.dumps(error.body(admin=True)["error"]),
            "excerpt": excerpt.replace("\0", "\ufffd")[:_EXCERPT_CHARS],
        },
    )
