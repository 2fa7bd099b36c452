"""Ask for the vectors of another model; one at a time."""

from __future__ import annotations

from uuid import UUID

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.embedding.switch import reembed
from shared.work import chore_records
from shared.work.chore_records import REEMBED_MODEL


def ask(
    conn: Connection[TupleRow],
    model: str,
    *,
    batch: int = reembed.STEP_ENTRIES,
    activate: bool = False,
    force: bool = False,
) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    begins = reembed.begins(model, batch=batch, activate=activate, force=force)
    refusal = "Entries are being embedded for another model already."
    return chore_records.ask(conn, REEMBED_MODEL, begins, refusal)


def under_way(conn: Connection[TupleRow]) -> UUID | None:
    """Return the re-embedding that has not ended."""
    return chore_records.find_unfinished(conn, REEMBED_MODEL)
