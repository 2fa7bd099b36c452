"""Whether searches found the circuits of their backends open, as stored jobs tell.

A circuit is in the memory of one worker: what its searches came to is all that others
can know of it.
"""

from __future__ import annotations

import time
from typing import Any, Literal, LiteralString

from psycopg import Connection

from shared.ids import earliest
from shared.search.jobs.outcome import CIRCUIT_OPEN

State = Literal["open", "closed"]

# An open circuit lets a probe by each second: what is older says nothing of now.
LATELY_SECONDS = 60

_LATELY: LiteralString = """
    SELECT b.name, b.reason
      FROM (SELECT j.id, j.branches
              FROM job j
             WHERE j.tenant = %(tenant)s AND j.id >= %(since)s
               AND j.branches IS NOT NULL
             ORDER BY j.id DESC
             LIMIT 50) AS lately
     CROSS JOIN LATERAL jsonb_to_recordset(lately.branches)
           AS b (name text, status text, reason text)
     WHERE b.status IN ('ok', 'empty', 'error') OR b.reason = %(open)s
     ORDER BY lately.id DESC, b.name, b.reason NULLS LAST
     LIMIT 1000"""


def load_circuits(conn: Connection[Any], tenant: str) -> dict[str, State]:
    """Return of each module what its last search met; without one it is not there."""
    # By the clock that jobs are numbered by.
    since = earliest(int((time.time() - LATELY_SECONDS) * 1000))
    given = {"tenant": tenant, "since": since, "open": CIRCUIT_OPEN}
    seen: dict[str, State] = {}
    for name, reason in conn.execute(_LATELY, given).fetchall():
        # Else its backend was asked, whatever it said.
        seen.setdefault(name, "open" if reason == CIRCUIT_OPEN else "closed")
    return seen
