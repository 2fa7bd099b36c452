"""The audit, as its readers are shown it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from api.server.body_model import Body, dump_fields
from shared.access.audit_records import Action, AuditRecord, Outcome, WayIn


class AuditRecordOut(Body):
    """Who did what, when, and what came of it."""

    id: UUID
    at: datetime
    tenant: str
    """`*`: the whole installation."""
    action: Action
    outcome: Outcome
    """`begun`: stored before it was done; its end has a row of its own."""
    way_in: WayIn
    """By a key, by a key in a login, by a gateway, by neither, or by a command."""
    key_id: str | None
    subject: str
    """The person, whom the key belongs to, or who typed the command."""
    request: str
    """The route or the command."""
    target: str | None
    """Which entry, file, key or source, as it was named."""
    status: int | None
    query_key: str | None
    """Equal for equal questions, and nothing else is told of them."""
    query: str | None
    """The question, where `LOG_QUERIES` is `true`."""
    request_id: str | None


class AuditPage(BaseModel):
    """Rows of the audit, the newest first."""

    items: list[AuditRecordOut]
    next_cursor: str | None


def audit_record_out(record: AuditRecord) -> dict[str, Any]:
    """Return a row as it is listed."""
    return dump_fields(AuditRecordOut, record)
