"""The digest of a shift, as the contract words it."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.server.body_model import Body


class DigestItem(Body):
    """An entry, in words of its own."""

    entry_id: UUID
    revision: int
    permalink: str
    source: str
    title: str
    authors: list[str]
    entry_time: datetime
    text: str = Field(description="Its summary, or how it begins.")
    state: Literal["open", "monitoring", "resolved", "unknown"] | None
    """Of an incident, as its thread tells; null: it is none."""
    quote: str | None = Field(
        description="Its sentence that says so, of a lock and of what is to be done."
    )
    is_new: bool = Field(
        description="False: it stands open from before, and stood in the digest of"
        " when this time began."
    )


class NamedDevice(BaseModel):
    """A device, and the entries that name it."""

    device: str
    count: int
    entry_ids: list[UUID]


class DigestSections(BaseModel):
    """Each entry stands in one section; devices are counted over all."""

    handover: list[DigestItem]
    open: list[DigestItem]
    resolved: list[DigestItem]
    locks: list[DigestItem]
    devices: list[NamedDevice]
    new: list[DigestItem]


class ShiftDigest(BaseModel):
    """What was written since a shift began, and what stands open from before."""

    model_config = ConfigDict(populate_by_name=True)

    since: datetime = Field(alias="from")
    until: datetime = Field(alias="to")
    sections: DigestSections
    complete: bool = Field(description="False: there are more entries than these.")
