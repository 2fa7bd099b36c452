"""The facility's calendar: its runs, shutdowns and the like, each by name."""

from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Period(BaseModel):
    """Days that have a name, `July shutdown`, and what they are one of, `shutdown`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=40)
    kind: str = Field(pattern="^[a-z]{2,20}$")
    begins: date
    # Its last day.
    ends: date

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.ends < self.begins:
            raise ValueError(f"{self.name!r} ends before it begins")
        return self
