"""How many entries there are, or about so many, and how many the index lacks."""

from typing import LiteralString

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.fetch_rows import fetch_value

# Up to here entries are counted; above it, what the planner thinks is near enough.
_COUNTED = 100_000
_COUNT: LiteralString = """
    SELECT greatest(
        (SELECT count(*) FROM (SELECT FROM entry LIMIT %(counted)s) AS few),
        (SELECT reltuples::bigint FROM pg_class WHERE oid = 'entry'::regclass))"""


def estimate_entries(conn: Connection) -> int:
    """Return about how many entries there are, of everybody."""
    return int(fetch_value(conn, _COUNT, {"counted": _COUNTED}) or 0)


_UNDELETED: LiteralString = "SELECT count(*) FROM entry WHERE deleted_at IS NULL"


def count_undeleted(conn: Connection) -> int:
    """Return how many entries there are that nobody has deleted, of everybody."""
    return int(fetch_value(conn, _UNDELETED) or 0)


# From what is due and quarantined, so it costs what waits and not what there is.
_LACKING: LiteralString = f"""
    SELECT count(*)
      FROM (SELECT entry_id FROM work
             WHERE stage IN ('metadata', 'index') AND tenant = %(tenant)s
             UNION
            SELECT entry_id FROM quarantine
             WHERE stage = 'index' AND tenant = %(tenant)s) AS lacking
      JOIN entry e ON e.id = lacking.entry_id
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}"""


def count_unindexed(conn: Connection, scope: Scope) -> int:
    """Return how many of the caller's entries the index has not, or not as they are."""
    return int(fetch_value(conn, _LACKING, scope.params) or 0)
