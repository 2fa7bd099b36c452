"""What a search says of the time in which its hits were written."""

from typing import Literal

from pydantic import Field

from api.server.body_model import Body


class TimeApplied(Body):
    """An interval, from and before, in which every hit was written."""

    # A name that Python keeps for itself.
    from_: str | None = Field(alias="from")
    to: str | None
    zone: str = Field(description="The facility's, in which it was read.")
    expression: str
    confidence: float = Field(description="1: nothing of it was assumed.")
    day_ends: str | None = None
    """A day was named: what was written behind its end, on the next day, is likely
    about it, and stands further down."""
    field: Literal["entry_time", "event_time"] = "entry_time"
    """Written then; or, for `event_time`, happened then or was written then: most
    entries do not say when it happened."""


class SearchTime(Body):
    """What the question and the filters say of the time."""

    applied: list[TimeApplied] = Field([])
    inferred: bool = False
    """Read out of the words of the question."""
