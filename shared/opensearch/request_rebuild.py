"""Ask for the index to be made anew; one at a time."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.opensearch.rebuild import FULL
from shared.work import chore_records
from shared.work.chore_records import REBUILD_INDEX


def ask(conn: Connection[TupleRow], *, full: bool = False) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    refusal = "The index is being made anew already."
    return chore_records.ask(conn, REBUILD_INDEX, FULL if full else None, refusal)


def find_unfinished_rebuild(conn: Connection[TupleRow]) -> UUID | None:
    """Return the rebuild that has not ended."""
    return chore_records.find_unfinished(conn, REBUILD_INDEX)
