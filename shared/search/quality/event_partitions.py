"""Events are kept for days: one partition a day, made ahead, dropped whole."""

from datetime import UTC, datetime
from typing import LiteralString

from psycopg import Connection

from shared.postgres.partitioned_table import PartitionedTable

_EVENTS = PartitionedTable(
    "search_event",
    "search_event_d",
    "at",
    86_400,
    2,
    lambda second: datetime.fromtimestamp(second, UTC),
)
_EXPIRE_FEEDBACK: LiteralString = "DELETE FROM search_feedback WHERE at < %(before)s"


def rotate_event_partitions(
    conn: Connection, *, retention_days: int, day: int | None = None
) -> None:
    """Make the partitions of the next days, and drop what is past the retention."""
    oldest = _EVENTS.rotate(conn, retention_days, day)
    conn.execute(_EXPIRE_FEEDBACK, {"before": _EVENTS.bound(oldest)})
