"""Reads from stored jobs whether searches met open circuits of their backends.

A circuit is in the memory of one worker: others know of it only by the outcomes of that
worker's searches.
"""

from __future__ import annotations

import time
from typing import Any, Literal, LiteralString

from psycopg import Connection

from shared.ids import earliest
from shared.search.jobs.outcome import CIRCUIT_OPEN

State = Literal["open", "closed"]

# An open circuit lets a probe by each second, so older searches say nothing of now.
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
    """Return by module whether its last search met an open circuit.

    A module that nobody searched lately is left out.
    """
    # This machine's clock: jobs get their ids by it.
    since = earliest(int((time.time() - LATELY_SECONDS) * 1000))
    given = {"tenant": tenant, "since": since, "open": CIRCUIT_OPEN}
    seen: dict[str, State] = {}
    for name, reason in conn.execute(_LATELY, given).fetchall():
        # With any other reason the backend was asked, so the circuit was closed.
        seen.setdefault(name, "open" if reason == CIRCUIT_OPEN else "closed")
    return seen
