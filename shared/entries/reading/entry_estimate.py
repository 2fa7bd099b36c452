"""About how many entries there are, for whoever says how far he has come."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

# Up to here entries are counted; above it, what the planner thinks is near enough.
_COUNTED = 100_000
_COUNT: LiteralString = """
    SELECT greatest(
        (SELECT count(*) FROM (SELECT FROM entry LIMIT %(counted)s) AS few),
        (SELECT reltuples::bigint FROM pg_class WHERE oid = 'entry'::regclass))"""


def estimate_entries(conn: Connection[TupleRow]) -> int:
    """Return about how many entries there are, of everybody."""
    row = conn.execute(_COUNT, {"counted": _COUNTED}).fetchone()
    return int(row[0]) if row else 0


_UNDELETED: LiteralString = "SELECT count(*) FROM entry WHERE deleted_at IS NULL"


def undeleted(conn: Connection[TupleRow]) -> int:
    """Return how many entries there are that nobody has deleted, of everybody."""
    row = conn.execute(_UNDELETED).fetchone()
    return int(row[0]) if row else 0
