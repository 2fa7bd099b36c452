"""Stores events of searches, with keyed hashes and never a word that was typed."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.search.query.query_log import query_key

EventType = Literal[
    "query", "click", "zero_result", "answer_frame", "reformulation", "rescue_action"
]
# The value of a detail of an event: a number, a truth or one short word.
Detail = str | int | float | bool | None
MAX_DETAILS_BYTES = 1024
_HASH_CHARS = 16

# Losing the last moments of them in a crash costs nobody anything: whoever commits does
# not wait for the disk.
_STORE: LiteralString = """
    INSERT INTO search_event (tenant, at, type, query_key, session_key, job_id, details)
    SELECT %(tenant)s, e.at, e.type, e.query_key, e.session_key, e.job_id, e.details
      FROM json_to_recordset(%(events)s::json) AS e (
           at timestamptz, type text, query_key text, session_key text, job_id uuid,
           details jsonb)
    RETURNING set_config('synchronous_commit', 'off', true)"""


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """One thing that somebody did, or was answered."""

    type: EventType
    at: datetime
    query_key: str | None = None
    session_key: str | None = None
    job_id: UUID | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventKeys:
    """Makes the keys that stand for questions and sessions in one facility's events."""

    secret: bytes
    tenant: str

    def of_query(self, query: str | None) -> str | None:
        """Return the key of a question; None: it has no word."""
        if query is None or not query.strip():
            return None
        return query_key(query, self.secret, self.tenant)

    def of_session(self, session_id: str | None) -> str | None:
        """Return the key of a session; each facility has its own for the same id."""
        if session_id is None:
            return None
        text = f"session\0{self.tenant}\0{session_id}".encode("utf-8", "surrogatepass")
        return hmac.new(self.secret, text, hashlib.sha256).hexdigest()[:_HASH_CHARS]


def answer_details(answer: Mapping[str, Any]) -> dict[str, Detail]:
    """Return the details of an answer to keep: its grade and counts, never its text."""
    worth = answer.get("context_answer") or {}
    return {
        "status": worth.get("status"),
        "code": worth.get("code"),
        "grade": worth.get("grade"),
        "citation_mode": answer.get("citation_mode"),
        "method": answer.get("method_used"),
        "results": len(answer.get("results", ())),
        "evidence": len(worth.get("evidence", ())),
        "citations": len(worth.get("citations", ())),
        "questions": len(worth.get("questions", ())),
        "cards": len(answer.get("cards", ())),
        "degraded": bool(answer.get("degraded")),
    }


def fits(details: Mapping[str, Detail]) -> bool:
    """Tell whether details are small enough to be kept."""
    # As Postgres writes it, which is never shorter.
    return len(json.dumps(details, ensure_ascii=False).encode()) <= MAX_DETAILS_BYTES


def store_events(conn: Connection, tenant: str, events: Sequence[SearchEvent]) -> None:
    """Store the search events of a facility."""
    rows = [
        {
            "at": one.at.isoformat(),
            "type": one.type,
            "query_key": one.query_key,
            "session_key": one.session_key,
            "job_id": str(one.job_id) if one.job_id else None,
            "details": dict(one.details),
        }
        for one in events
    ]
    conn.execute(_STORE, {"tenant": tenant, "events": json.dumps(rows)})
