"""What became of entries that were pushed."""

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.server.body_model import Body


class PushedEntry(Body):
    """What became of one entry."""

    entry_id: UUID
    source_uri: str = Field(examples=["logchord:default/api/OPS-77"])
    revision: int
    status: Literal["created", "updated", "unchanged"]
    indexed: bool | None = None
    """With `wait_for=index`: whether it can be found already."""


IS_NEW = {201: {"model": PushedEntry, "description": "The entry is new."}}


class PushedItem(BaseModel):
    """What became of one entry of many, in input order."""

    index: int
    status: Literal["created", "updated", "unchanged", "rejected"]
    entry_id: UUID | None = None
    source_uri: str | None = None
    revision: int | None = None
    error: dict[str, Any] | None = None


class PushedEntries(BaseModel):
    """What became of many entries."""

    items: list[PushedItem]
    counts: dict[str, int]
    indexed: bool | None = None
