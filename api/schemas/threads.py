"""A thread as it is read."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel, Field

from api.schemas.entries import EntryOut


class TreeNode(BaseModel):
    """One entry in its place, behind what it answers."""

    entry_id: UUID
    parent_id: UUID | None
    depth: int


class ThreadOut(BaseModel):
    """Entries that belong together, oldest first, and what answers what."""

    thread_id: UUID | None = Field(description="Null: it stands alone.")
    title: str
    entries: list[EntryOut] = Field(
        description="Texts are cut to 500 characters; one entry is read whole."
    )
    tree: list[TreeNode]
    complete: bool = Field(description="False: there are more than these.")
