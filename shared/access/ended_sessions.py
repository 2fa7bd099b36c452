"""Sessions of the page that were ended before their time: copies of them are over."""

import hashlib
from datetime import datetime
from typing import LiteralString

from psycopg import Connection

from shared.postgres.fetch_rows import fetch_value

# Those whose time is over need no row any more.
_END: LiteralString = """
    WITH over AS (DELETE FROM ended_session WHERE ends_at < now())
    INSERT INTO ended_session (session, ends_at)
    VALUES (%(session)s, %(ends_at)s)
        ON CONFLICT DO NOTHING"""
_HAS_ENDED: LiteralString = """
    SELECT EXISTS (SELECT FROM ended_session WHERE session = %(session)s)"""


def end_session(conn: Connection, cookie: str, ends_at: datetime) -> None:
    """Store that a session is over now, and not only at its end."""
    conn.execute(_END, {"session": _digest(cookie), "ends_at": ends_at})


def has_ended(conn: Connection, cookie: str) -> bool:
    """Tell whether a session was ended before its time."""
    return bool(fetch_value(conn, _HAS_ENDED, {"session": _digest(cookie)}))


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
