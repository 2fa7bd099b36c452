"""Transactions that hold the feed of changes back, as seen by a test of the feed."""

from psycopg import Connection

from tests.support.waiting import eventually

# The feed waits for every transaction of the server, so for other databases too.
_OLDER = """
    SELECT datname, pid, backend_type, state, query FROM pg_stat_activity
     WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()"""


def nothing_older(conn: Connection) -> None:
    """Wait until no other transaction of this server writes."""

    def older() -> str:
        found = conn.execute(_OLDER).fetchall()
        # A look at the activity stands until its transaction ends.
        conn.commit()
        return "\n".join(str(row) for row in found)

    eventually(older, equals="", within_seconds=60)
