"""How far each stage is behind, from Postgres and not from queue lengths."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow, class_row

REFRESH_SECONDS = 1.0

# The watermark: the older of the oldest unfinished work and the oldest open
# transaction (its rows are not visible yet), less what the index needs to refresh.
_STAGES: LiteralString = """
    WITH rows AS (
        SELECT stage, count(*) FILTER (WHERE class = 0) AS due,
               count(*) FILTER (WHERE class > 0) AS bulk,
               count(*) FILTER (
                   WHERE due_at <= clock_timestamp() - interval '10 s'
                     AND (leased_until IS NULL OR leased_until <= clock_timestamp())
               ) AS overdue,
               count(*) FILTER (WHERE leased_until > clock_timestamp()) AS leased,
               min(created_at) AS oldest
          FROM work GROUP BY stage),
    aside AS (
        SELECT stage, count(*) AS quarantined FROM quarantine GROUP BY stage)
    SELECT named.stage,
           coalesce(rows.due, 0) AS due, coalesce(rows.bulk, 0) AS bulk,
           coalesce(rows.overdue, 0) AS overdue, coalesce(rows.leased, 0) AS leased,
           coalesce(aside.quarantined, 0) AS quarantined,
           coalesce(extract(epoch FROM clock_timestamp() - rows.oldest), 0)::float8
               AS oldest_seconds,
           least(rows.oldest, (
               SELECT min(xact_start) FROM pg_stat_activity
                WHERE xact_start IS NOT NULL AND datname = current_database()
           ), now()) - make_interval(secs => %(refresh)s) AS watermark
      FROM (SELECT stage FROM rows UNION SELECT stage FROM aside
            UNION SELECT unnest(%(stages)s::text[])) AS named (stage)
      LEFT JOIN rows USING (stage)
      LEFT JOIN aside USING (stage)
     ORDER BY named.stage
     LIMIT 1000"""
_LIVE_DUE: LiteralString = "SELECT count(*) FROM work WHERE class = 0"
_WATERMARK: LiteralString = """
    SELECT least(
               (SELECT min(created_at) FROM work WHERE stage = ANY (%(stages)s)),
               (SELECT min(xact_start) FROM pg_stat_activity
                 WHERE xact_start IS NOT NULL AND datname = current_database()),
               now()) - make_interval(secs => %(refresh)s)"""


@dataclass(frozen=True, slots=True)
class StageLag:
    """One stage: what is due, and up to when everything is done."""

    stage: str
    due: int
    bulk: int
    overdue: int
    leased: int
    quarantined: int
    oldest_seconds: float
    watermark: datetime


def stages(conn: Connection[TupleRow], known: list[str]) -> list[StageLag]:
    """Return every stage that has rows, and the known ones that have none."""
    values = {"stages": known, "refresh": REFRESH_SECONDS}
    with conn.cursor(row_factory=class_row(StageLag)) as cur:
        return cur.execute(_STAGES, values).fetchall()


def watermark(conn: Connection[TupleRow], of_stages: list[str]) -> datetime:
    """Return up to when everything written has passed these stages."""
    values = {"stages": of_stages, "refresh": REFRESH_SECONDS}
    row = conn.execute(_WATERMARK, values).fetchone()
    assert row is not None
    found: datetime = row[0]
    return found


def live_due(conn: Connection[TupleRow]) -> int:
    """Return how much live work is due; bulk work is not counted."""
    row = conn.execute(_LIVE_DUE).fetchone()
    return int(row[0]) if row else 0
