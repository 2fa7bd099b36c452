"""API keys, as the contract words them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.server.body_model import Body, RequestBody, dump_fields
from api.server.field_types import WHOLE
from shared.access.keys import KeyRow

KeyScope = Literal["read", "search", "ingest", "admin"]
Logbook = Annotated[str, Field(max_length=255)]


class KeyIn(RequestBody):
    """A key to be made, of the caller's own facility."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """What the key is for."""
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=4)] = Field(
        ["read", "search"]
    )
    subject: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Whom it acts for; the name when absent."""
    logbooks: Annotated[list[Logbook], Field(max_length=100)] | None = None
    """Only these; null: all, which a key of some logbooks may not give."""
    rate_per_minute: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] | None = None
    """0: no limit of its own."""
    expires_in_days: Annotated[int, Field(ge=1, le=36_500), WHOLE] | None = None
    """Never, when null."""


class KeyCreated(Body):
    """A new key; its token is shown this once."""

    key_id: str
    token: str
    """What a caller sends as `Authorization: Bearer`; only its hash is kept."""


class KeyOut(Body):
    """A key, without its secret."""

    key_id: str
    tenant: str
    name: str
    subject: str
    scopes: list[str]
    logbooks: list[str] | None
    rate_per_minute: int | None
    state: Literal["valid", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    """Within a minute or two."""


class KeyPage(BaseModel):
    """Keys, the newest first."""

    items: list[KeyOut]
    next_cursor: str | None


def key_out(row: KeyRow) -> dict[str, Any]:
    """Return a key as it is listed."""
    return dump_fields(KeyOut, row)
