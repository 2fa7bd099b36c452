"""A thread as it is read."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.entries.schemas.entries import EntryOut, TextsCut
from api.server.body_model import Body


class ThreadLink(BaseModel):
    """A tie to another entry that this one does not answer."""

    kind: Literal["supersedes", "related"]
    entry_id: UUID


class TreeNode(Body):
    """One entry in its place, behind what it answers."""

    entry_id: UUID
    parent_id: UUID | None
    """Of a parent that was superseded, what took its place."""
    depth: int
    links: list[ThreadLink]


class TimelineStep(Body):
    """One step of an incident, in the words of an entry."""

    time: datetime
    step: Literal["trip", "cause", "action", "restored", "note"]
    entry_id: UUID
    quote: str
    """Part of its text, or of its title; without the markup it came in."""
    time_from: Literal["quote", "beside", "entry"]
    """A time in the quote, or beside it in the text, or the entry's own."""


class ThreadOut(Body):
    """Entries that belong together, oldest first, and what answers what."""

    thread_id: UUID | None = Field(
        description="Its first entry that you may see; null: it stands alone."
    )
    title: str
    state: Literal["open", "monitoring", "resolved", "unknown"]
    """As the newest entry has it that says so; unknown: none does."""
    entries: list[EntryOut]
    """Texts are cut to 500 characters unless `detail` is `full`."""
    cut: TextsCut
    tree: list[TreeNode]
    timeline: list[TimelineStep]
    """Steps that the texts tell of, oldest first."""
    timeline_complete: bool
    """False: only the newest entries, or the beginnings of long ones, were read for
    state and timeline."""
    complete: bool = Field(description="False: there are more than these.")
