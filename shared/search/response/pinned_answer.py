"""Shows a stored answer again, pinned to the revisions that it read."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.pool import Pool, format_array
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.compatibility import read_fields
from shared.search.response.answer import Answer, Citation
from shared.times.rfc3339 import timestamp

_CITED: LiteralString = f"""
    SELECT e.id, e.deleted_at,
           (SELECT min(r.seen_at) FROM revision r
             WHERE r.entry_id = e.id AND r.number > c.revision) AS changed
      FROM unnest(%(ids)s::uuid[], %(revisions)s::int[]) AS c (id, revision)
      JOIN entry e ON e.id = c.id
     WHERE e.tenant = %(tenant)s{rights.SEEN}
     LIMIT 100"""


def read_pinned_answer(
    pool: Pool, scope: Scope, stored: Mapping[str, Any] | None, timeout_ms: int
) -> Answer | None:
    """Return a job's answer as its reader may see it now, or None.

    An entry that was changed or removed since is marked. Where one was purged, or the
    reader may not see it any more, the answer is withheld: it has words of that entry.
    """
    if stored is None:
        return None
    answer = read_fields(Answer, stored)
    if not answer.citations:
        # Without citations nobody knows whose words an answer has.
        return None if answer.context.evidence else answer
    with timed_connection(pool, timeout_ms) as conn:
        known = _read(conn, scope, answer)
    if any(UUID(one.entry_id) not in known for one in answer.citations):
        return None
    marked = [_marked(one, known[UUID(one.entry_id)]) for one in answer.citations]
    return replace(answer, citations=marked)


def _read(
    conn: Connection, scope: Scope, answer: Answer
) -> dict[UUID, tuple[datetime | None, datetime | None]]:
    given = {
        "ids": format_array([UUID(one.entry_id) for one in answer.citations]),
        "revisions": [one.revision for one in answer.citations],
        **scope.params,
    }
    rows = conn.execute(_CITED, given).fetchall()
    return {entry_id: (deleted, changed) for entry_id, deleted, changed in rows}


def _marked(one: Citation, since: tuple[datetime | None, datetime | None]) -> Citation:
    removed, changed = map(timestamp, since)
    return replace(one, removed_at=removed, changed_since=changed)
