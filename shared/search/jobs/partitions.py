"""Jobs in partitions by the hour: their ids are UUIDv7, so in the order of time."""

import uuid

from psycopg import Connection

from shared.ids import earliest
from shared.postgres.partitioned_table import PartitionedTable

_JOBS = PartitionedTable(
    "job", "job_h", "id", 3600, 3, lambda second: earliest(second * 1000)
)


def rotate_partitions(
    conn: Connection, *, retention_hours: int, hour: int | None = None
) -> uuid.UUID:
    """Make the next hours' partitions and drop those past the retention.

    Returns the first id that is kept.
    """
    first: uuid.UUID = _JOBS.bound(_JOBS.rotate(conn, retention_hours, hour))
    return first
