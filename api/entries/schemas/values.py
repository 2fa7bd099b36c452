"""Values of one and the same thing that entries state, as answers show them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class OtherValue(BaseModel):
    """A value that an entry states of a device, and another one that another states."""

    device: str
    parameter: str = Field(description="What of the device it is a value of.")
    dimension: str
    unit: str = Field(description="Of both values; a fraction has none.")
    stated: float = Field(description="What the entry itself says.")
    value: float = Field(description="What the other entry says.")
    entry_id: str
    source: str
    external_id: str
    permalink: str
    time: str = Field(description="When the other one happened, or was written.")
