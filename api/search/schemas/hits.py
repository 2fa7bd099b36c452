"""A hit as the contract words it, and what was left off of several."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from api.entries.schemas.values import OtherValue
from shared.search.ranking.calibration import Calibration, Confidence


def _all_optional(schema: dict[str, Any]) -> None:
    schema.pop("required", None)


class SearchHit(BaseModel):
    """One entry found, in its place; where `fields` are named, these alone."""

    model_config = ConfigDict(json_schema_extra=_all_optional)

    entry_id: str
    chunk_id: str
    revision: int
    kind: str
    title: str
    content: str = Field(description="The best passage of the entry.")
    source: str
    external_id: str
    source_uri: str
    url: str | None
    permalink: str = Field(description="Its address here; a rebuild keeps it.")
    author: str | None
    authors: list[str]
    entry_time: str
    event_time: str | None
    thread_id: str | None
    logbooks: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    highlights: list[str] = Field(
        description="Parts of it as escaped HTML; what was asked for in `<b>`."
    )
    relevance_score: float
    confidence: Confidence
    calibration: Calibration
    rank: int
    scores: dict[str, float]
    ranks: dict[str, int]
    contrib: dict[str, float]
    factors: dict[str, float]
    found_by: list[str]
    multi_source: bool
    origin: str
    similar_count: int
    superseded_by: list[OtherValue] = Field(
        description="Values of it that are not the newest, and who states the newest."
    )
    replaces: list[OtherValue] = Field(
        description="Newest values of it, and what they have replaced."
    )


class ResultsCut(BaseModel):
    """What was left off because less text was asked for."""

    entries: int
    chars: int
