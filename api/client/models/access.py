"""What the API tells of access, made from its OpenAPI document."""

from __future__ import annotations

from api.client.models.model import Model


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
