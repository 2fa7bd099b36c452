"""Files beside entries as they go out over REST."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from shared.entries.attachments import Attached


class AttachmentOut(BaseModel):
    """A file beside an entry."""

    attachment_id: UUID
    filename: str
    media_type: str | None = Field(description="By its bytes, once it is here.")
    declared_type: str | None = Field(description="As whoever attached it says.")
    bytes: int | None
    sha256: str | None
    caption: str | None
    text_extracted: bool
    state: Literal["due", "stored", "linked", "failed"] = Field(
        description="`linked`: it lies at its source alone, under `url`."
    )
    url: str | None
    error: dict[str, Any] | None = Field(description="Why it is not here, or not read.")


class AttachmentList(BaseModel):
    """The files of one entry, in its own order."""

    items: list[AttachmentOut]
    next_cursor: None = None


def attachment_out(one: Attached) -> dict[str, Any]:
    """Return a file's body, ready to be written as JSON."""
    return {
        "attachment_id": str(one.id),
        "filename": one.filename,
        "media_type": one.media_type,
        "declared_type": one.declared_type,
        "bytes": one.declared_bytes if one.size is None else one.size,
        "sha256": None if one.sha256 is None else one.sha256.hex(),
        "caption": one.caption,
        "text_extracted": one.text_extracted,
        "state": one.state,
        "url": one.url,
        "error": one.error,
    }
