"""What a part of a search came to, as it is answered."""

from typing import Literal

from pydantic import Field

from api.server.body_model import Body


class BranchOutcome(Body):
    """How one part of a search fared."""

    name: str
    sub_query: str | None = None
    status: Literal["ok", "empty", "timeout", "error", "skipped"]
    reason: str | None
    error_code: str | None
    error_category: str | None
    severity: str | None
    retriable: bool | None
    queued_ms: float
    """From when the search came until it began, what the search waited for a place
    included."""
    took_ms: float
    attempts: int
    candidates: int | None
    """Null where the job was asked by a key with other rights."""
    kept: int | None = Field(description="Null where `candidates` is.")
    index_watermark: str | None
    as_of: str | None
    fallback_for: str | None
