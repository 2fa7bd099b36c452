"""What people say of answers."""

from typing import Literal, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.ids import uuid7

Verdict = Literal["good", "bad", "wrong_citation", "missing"]

_STORE: LiteralString = """
    INSERT INTO search_feedback (id, tenant, job_id, entry_id, verdict, comment)
    VALUES (%(id)s, %(tenant)s, %(job_id)s, %(entry_id)s, %(verdict)s, %(comment)s)"""


def store_feedback(
    conn: Connection,
    tenant: str,
    job_id: UUID,
    verdict: Verdict,
    entry_id: UUID | None = None,
    comment: str | None = None,
) -> None:
    """Store somebody's verdict on an answer, or on one entry in it."""
    conn.execute(
        _STORE,
        {
            "id": uuid7(),
            "tenant": tenant,
            "job_id": job_id,
            "entry_id": entry_id,
            "verdict": verdict,
            "comment": comment,
        },
    )
