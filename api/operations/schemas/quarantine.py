"""What was quarantined, as REST tells it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from api.server.body_model import RequestBody, ResponseBody, dump_fields
from shared.work.quarantine import Quarantined, Released

Filter = Annotated[str, Field(min_length=1, max_length=255)]


class QuarantinedOut(ResponseBody):
    """An entry's stage that could not be done, or a message nobody could read."""

    quarantine_id: UUID
    entry_id: UUID | None = Field(description="Null: it is a message.")
    source: str | None
    external_id: str | None
    stage: str = Field(examples=["metadata", "message:index"])
    revision: int | None
    attempts: int
    error: dict[str, Any] = Field(description="Why, in the shape of every error.")
    first_at: datetime
    last_at: datetime
    excerpt: str | None = Field(description="Of a message: its task and id.")
    times: int = Field(description="How many messages it stands for.")


class QuarantinePage(BaseModel):
    """A page of what was quarantined, the newest first."""

    items: list[QuarantinedOut]
    next_cursor: str | None


class RetryIn(RequestBody):
    """Which of them are made due again; without a filter, any."""

    source: Filter | None = None
    stage: Filter | None = None
    code: Filter | None = None
    limit: int | None = Field(None, ge=1, le=1_000_000)
    """At most so many; none: all."""
    cursor: str | None = Field(None, max_length=512)
    """Goes on where an answer had to end."""


class ReleasedOut(ResponseBody):
    """What became of a release."""

    released: int = Field(description="How many entries are due again.")
    resumed: list[str] = Field(description="Stages that were paused and go on.")
    still_quarantined: int
    """How many a source sent in a form that still cannot be read."""
    complete: bool = Field(description="Whether all that was named has been tried.")
    next_cursor: str | None = Field(description="Of the rest, where there is one.")


def quarantined_out(one: Quarantined) -> dict[str, Any]:
    """Return one of them; ids and reasons, never an entry's text."""
    return dump_fields(QuarantinedOut, one, quarantine_id=one.id)


def released_out(one: Released, rest: str | None = None) -> dict[str, Any]:
    """Return the result of a release as JSON, with the cursor of its rest."""
    return dump_fields(ReleasedOut, one, complete=rest is None, next_cursor=rest)
