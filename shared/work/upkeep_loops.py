"""The loops of upkeep: who holds the lock of each just now, and when it last turned."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import Connection

from shared.postgres.fetch_rows import fetch_all

# The first key of upkeep's advisory locks; the second is the hash of the loop's name.
LOCK_SPACE = 0x10C0

# Told of by their lock alone until their first turn has ended.
MESSAGES_LOOP = "messages"
NAMES = ("sweeper", "finisher", "scheduler", "retention", "index", MESSAGES_LOOP)

# A lock tells its holder's connection, and the connection names its process; the row
# of the last turn knows the host of that process, too.
_LOOPS: LiteralString = """
    WITH held AS (
        SELECT l.objid, substring(a.application_name FROM '[0-9]+$') AS pid,
               coalesce(host(a.client_addr), 'local') AS address
          FROM pg_locks l
          JOIN pg_stat_activity a ON a.pid = l.pid
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
           AND l.classid = %(space)s::int::oid
           AND l.database = (
               SELECT oid FROM pg_database WHERE datname = current_database())),
    named AS (
        SELECT name FROM upkeep_loop UNION SELECT unnest(%(names)s::text[]))
    SELECT name,
           CASE WHEN turned.holder LIKE '%% ' || held.pid THEN turned.holder
                WHEN held.objid IS NOT NULL
                THEN held.address || ' ' || coalesce(held.pid, '?') END AS holder,
           extract(epoch FROM clock_timestamp() - turned.last_turn_at)::float8
               AS seconds_since_turn,
           turned.trouble, turned.trouble_since
      FROM named
      LEFT JOIN upkeep_loop turned USING (name)
      LEFT JOIN held ON held.objid = hashtext(named.name)::oid
     WHERE turned.name IS NOT NULL OR held.objid IS NOT NULL
     ORDER BY name
     LIMIT 100"""


@dataclass(frozen=True, slots=True)
class LoopState:
    """One loop: the host and process that holds its lock, or nobody."""

    name: str
    holder: str | None
    seconds_since_turn: float | None
    # Why its last turns came to nothing, and since when; None: they went well.
    trouble: dict[str, Any] | None = None
    trouble_since: datetime | None = None


def listing(conn: Connection) -> list[LoopState]:
    """Return every loop that has a holder, or ever turned."""
    values = {"space": LOCK_SPACE, "names": list(NAMES)}
    return fetch_all(conn, LoopState, _LOOPS, values)
