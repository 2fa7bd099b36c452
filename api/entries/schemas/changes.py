"""What changed, as REST tells it."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from api.entries.schemas.entries import EntryOut, TextsCut
from api.server.body_model import Body


class ChangeOut(Body):
    """An entry that is not as it was; the latest of its changes stands for all."""

    change: Literal["created", "edited", "deleted", "access"]
    """`deleted` too for an entry that the caller may not see any more; any other may be
    the first that is heard of it."""
    entry_id: UUID
    source_uri: str
    revision: int
    changed_at: datetime
    entry: EntryOut | None = Field(description="As it is now; null when it is gone.")


class ChangePage(Body):
    """Changes in an order without gaps, and where to go on."""

    items: list[ChangeOut]
    cut: TextsCut
    next_after: str
    """Send it as `after`; it never expires. A place from before a backup was restored
    begins anew."""
