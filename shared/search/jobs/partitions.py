"""Jobs are kept for hours: one partition an hour, made ahead, dropped whole.

A job's id is a UUIDv7, so a range of ids is a range of time.
"""

from __future__ import annotations

import uuid
from typing import LiteralString

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from shared.ids import earliest

_HOUR_MS = 3_600_000
_AHEAD = 3
_PREFIX = "job_h"

_EXISTING: LiteralString = """
    SELECT c.relname
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'job'::regclass AND c.relname ~ '^job_h[0-9]+$'
     ORDER BY c.relname"""
_HOUR: LiteralString = """
    SELECT floor(extract(epoch FROM clock_timestamp()) / 3600)::bigint"""
# What arrived before its partition was made lies in the default one.
_EXPIRE_DEFAULT: LiteralString = "DELETE FROM job_default WHERE id < %(before)s"
_DEFAULT_HOLDS: LiteralString = """
    SELECT EXISTS (SELECT FROM job_default WHERE id >= %(low)s AND id < %(high)s)"""


def rotate_partitions(
    conn: Connection[TupleRow], *, retention_hours: int, hour: int | None = None
) -> uuid.UUID:
    """Make the next hours' partitions and drop those past the retention.

    Returns the first id that is kept.
    """
    if hour is None:
        hour = _current_hour(conn)
    existing = {row[0] for row in conn.execute(_EXISTING).fetchall()}
    for number in range(hour, hour + _AHEAD):
        name = f"{_PREFIX}{number}"
        if name not in existing:
            _make(conn, name, number)
    oldest = hour - retention_hours
    for name in sorted(existing):
        if int(name.removeprefix(_PREFIX)) < oldest:
            conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
    conn.execute(_EXPIRE_DEFAULT, {"before": _first_id(oldest)})
    return _first_id(oldest)


def _make(conn: Connection[TupleRow], name: str, hour: int) -> None:
    bounds = {"low": _first_id(hour), "high": _first_id(hour + 1)}
    row = conn.execute(_DEFAULT_HOLDS, bounds).fetchone()
    if row is not None and row[0]:
        # Postgres refuses a partition whose rows lie in the default one. They are
        # dropped from there when their hour is over.
        return
    conn.execute(
        sql.SQL("CREATE TABLE {} PARTITION OF job FOR VALUES FROM ({}) TO ({})").format(
            sql.Identifier(name),
            sql.Literal(str(bounds["low"])),
            sql.Literal(str(bounds["high"])),
        )
    )


def _current_hour(conn: Connection[TupleRow]) -> int:
    # The database's clock: an upkeep whose clock runs ahead must not drop kept jobs.
    row = conn.execute(_HOUR).fetchone()
    assert row is not None
    return int(row[0])


def _first_id(hour: int) -> uuid.UUID:
    return earliest(hour * _HOUR_MS)
