"""Incidents of a time by their threads: a shift must know those that stand open."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.fetch_rows import fetch_all

# An incident that nobody wrote about for a month is no news to a shift, and most were
# mended without a word. So many of the newest are read, in a tenth of a second.
INCIDENT_DAYS, MOST_READ = 30, 200

_INCIDENTS: LiteralString = f"""
    SELECT e.id AS entry_id, e.source, {rights.THREAD} AS thread_id, e.entry_time
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL AND e.kind = 'incident'
       AND e.entry_time >= %(since)s AND e.entry_time < %(until)s{rights.SEEN}
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class IncidentPlace:
    """An incident: its entry, and the thread that tells how it went on."""

    entry_id: UUID
    source: str
    thread_id: UUID | None
    entry_time: datetime

    @property
    def thread(self) -> UUID:
        """Return its thread, or its own id if it stands alone."""
        return self.thread_id or self.entry_id


def load_incidents(
    conn: Connection, scope: Scope, since: datetime, until: datetime
) -> list[IncidentPlace]:
    """Return the first incident of each thread in a time, the newest thread first."""
    values = {**scope.params, "since": since, "until": until, "most": MOST_READ}
    found = fetch_all(conn, IncidentPlace, _INCIDENTS, values)
    return list({one.thread: one for one in found}.values())
