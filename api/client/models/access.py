"""What the API tells of access, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime

from api.client.models.model import Model


class AuditPage(Model):
    """Rows of the audit, the newest first."""

    items: list[AuditRecordOut]
    next_cursor: str | None


class AuditRecordOut(Model):
    """Who did what, when, and what came of it."""

    id: str
    at: datetime
    tenant: str
    action: str
    outcome: str
    way_in: str
    key_id: str | None
    subject: str
    request: str
    target: str | None
    status: int | None
    query_key: str | None
    query: str | None
    request_id: str | None


class KeyCreated(Model):
    """A new key."""

    key_id: str
    token: str


class KeyOut(Model):
    """A key, without its secret."""

    key_id: str
    tenant: str
    name: str
    subject: str
    scopes: list[str]
    logbooks: list[str] | None
    rate_per_minute: int | None
    state: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class KeyPage(Model):
    """Keys, the newest first."""

    items: list[KeyOut]
    next_cursor: str | None


class Me(Model):
    """The caller's name, rights and limits."""

    key_id: str | None
    name: str | None
    subject: str
    groups: list[str]
    tenant: str
    scopes: list[str]
    logbooks: list[str] | None
    limits: dict[str, int | None]
