"""Events are kept for days: one partition a day, made ahead, dropped whole."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from shared.search.quality.unwritten_words import expire_unwritten_words

_AHEAD = 2
_PREFIX = "search_event_d"

_EXISTING: LiteralString = """
    SELECT c.relname
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'search_event'::regclass
       AND c.relname ~ '^search_event_d[0-9]+$'
     ORDER BY c.relname"""
# By the database's clock, in days since 1970.
_DAY: LiteralString = """
    SELECT floor(extract(epoch FROM clock_timestamp()) / 86400)::bigint"""
_BOUND: LiteralString = "SELECT to_timestamp(%(day)s::bigint * 86400)::text"
# What came before its partition was made lies in the default one.
_DEFAULT_HOLDS: LiteralString = """
    SELECT EXISTS (SELECT FROM search_event_default
                    WHERE at >= to_timestamp(%(day)s::bigint * 86400)
                      AND at < to_timestamp((%(day)s::bigint + 1) * 86400))"""
_EXPIRE_DEFAULT: LiteralString = """
    DELETE FROM search_event_default
     WHERE at < to_timestamp(%(day)s::bigint * 86400)"""
_EXPIRE_FEEDBACK: LiteralString = """
    DELETE FROM search_feedback
     WHERE at < to_timestamp(%(day)s::bigint * 86400)"""


def rotate_event_partitions(
    conn: Connection[TupleRow], *, retention_days: int, day: int | None = None
) -> None:
    """Make the partitions of the next days, and drop what is past the retention."""
    if day is None:
        row = conn.execute(_DAY).fetchone()
        assert row is not None
        day = int(row[0])
    existing = {row[0] for row in conn.execute(_EXISTING).fetchall()}
    for number in range(day, day + _AHEAD):
        if f"{_PREFIX}{number}" not in existing:
            _make(conn, number)
    oldest = day - retention_days
    for name in sorted(existing):
        if int(name.removeprefix(_PREFIX)) < oldest:
            conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
    conn.execute(_EXPIRE_DEFAULT, {"day": oldest})
    conn.execute(_EXPIRE_FEEDBACK, {"day": oldest})
    expire_unwritten_words(conn, retention_days)


def _make(conn: Connection[TupleRow], day: int) -> None:
    row = conn.execute(_DEFAULT_HOLDS, {"day": day}).fetchone()
    if row is not None and row[0]:
        # Postgres refuses a partition whose rows lie in the default one.
        return
    ends = []
    for number in (day, day + 1):
        bound = conn.execute(_BOUND, {"day": number}).fetchone()
        assert bound is not None
        ends.append(sql.Literal(bound[0]))
    statement = "CREATE TABLE {} PARTITION OF search_event FOR VALUES FROM ({}) TO ({})"
    name = sql.Identifier(f"{_PREFIX}{day}")
    conn.execute(sql.SQL(statement).format(name, *ends))
