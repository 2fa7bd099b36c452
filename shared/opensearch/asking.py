"""Ask for the index to be made anew; one at a time."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import maintenance
from shared.due.maintenance import REBUILD_INDEX
from shared.errors import ConflictError
from shared.opensearch.rebuild import FULL


def ask(conn: Connection[TupleRow], *, full: bool = False) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    opened = maintenance.open_chore(conn, REBUILD_INDEX, FULL if full else None)
    if opened is not None:
        return opened
    known = under_way(conn)
    raise ConflictError(
        "The index is being made anew already.",
        code="maintenance_in_progress",
        details={"maintenance_id": str(known) if known else None},
    )


def under_way(conn: Connection[TupleRow]) -> UUID | None:
    """Return the rebuild that has not ended."""
    found = maintenance.unfinished(conn)
    return next((one.id for one in found if one.kind == REBUILD_INDEX), None)
