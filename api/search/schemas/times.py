"""What a search says of the time in which its hits were written."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class TimeApplied(BaseModel):
    """An interval, from and before, in which every hit was written."""

    # A name that Python keeps for itself.
    from_: str | None = Field(alias="from")
    to: str | None
    zone: str = Field(description="The facility's, in which it was read.")
    expression: str
    confidence: float = Field(description="1: nothing of it was assumed.")
    day_ends: str | None = Field(
        None,
        description="A day was named: what was written behind its end, on the next day,"
        " is likely about it, and stands further down.",
    )
    field: Literal["entry_time", "event_time"] = Field(
        "entry_time",
        description="Written then; or, for `event_time`, happened then or was written"
        " then: most entries do not say when it happened.",
    )


class SearchTime(BaseModel):
    """What the question and the filters say of the time."""

    applied: list[TimeApplied] = []
    inferred: bool = Field(
        default=False, description="Read out of the words of the question."
    )
