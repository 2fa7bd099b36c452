"""Files beside entries as they go out over REST."""

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.server.body_model import Body, dump_fields
from shared.entries.reading.inline_images import Shown
from shared.entries.saving.attachment_rows import Attached


class AttachmentOut(Body):
    """A file beside an entry."""

    attachment_id: UUID
    filename: str
    media_type: str | None = Field(description="By its bytes, once it is here.")
    declared_type: str | None = Field(description="As whoever attached it says.")
    bytes: int | None
    sha256: str | None
    caption: str | None
    text_extracted: bool
    state: Literal["due", "stored", "linked", "failed"]
    """`linked`: it lies at its source alone, under `url`."""
    url: str | None
    error: dict[str, Any] | None = Field(description="Why it is not here, or not read.")
    thumbnail: str | None
    """Where a small JPEG of it is; null: it is no picture that is here."""


class InlinePicture(BaseModel):
    """A picture that the text shows, and the file that it is."""

    src: str = Field(description="Its address, as it stands in the text.")
    attachment_id: UUID


class AttachmentList(Body):
    """The files of one entry, in its own order."""

    items: list[AttachmentOut]
    inline: list[InlinePicture]
    """Which pictures of the text are files of it, in the text's order."""
    next_cursor: None = None


def inline_out(shown: Iterable[Shown]) -> list[dict[str, str]]:
    """Return which pictures are which files, ready to be written as JSON."""
    return [
        {"src": one.address, "attachment_id": str(one.attachment_id)} for one in shown
    ]


def attachment_out(one: Attached) -> dict[str, Any]:
    """Return a file's body, ready to be written as JSON."""
    return dump_fields(
        AttachmentOut,
        one,
        attachment_id=one.id,
        bytes=one.declared_bytes if one.size is None else one.size,
        sha256=None if one.sha256 is None else one.sha256.hex(),
        thumbnail=f"/v1/attachments/{one.id}/thumbnail" if one.has_thumbnail else None,
    )
