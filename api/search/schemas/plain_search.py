"""The plain search, in the words that its clients have known for long."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from api.server.body_model import Body
from api.server.field_types import Limit, Share


class PlainRequest(Body):
    """A question and nothing else: any other field is refused."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "rf trip", "method": "hybrid"}]},
    )

    query: StrictStr
    method: Literal["vector", "keyword", "hybrid"] | None = None
    """hybrid unless set otherwise."""
    limit: Limit | None = Field(None, description="10 unless set otherwise.")
    filters: dict[str, Any] = Field({})
    min_relevance_score: Share | None = None
    """0.5 unless set otherwise; equal is kept."""
    include_citations: StrictBool = True
    """False: no list, and no marks in the synthesis."""


class PlainResult(BaseModel):
    """One entry found."""

    content: str
    source: str
    relevance_score: float
    rank: int
    metadata: dict[str, str]


class PlainResponse(BaseModel):
    """What was found, and what it says in a few sentences."""

    results: list[PlainResult]
    query: str
    method_used: Literal["vector", "keyword", "hybrid"]
    total_results: int
    synthesis: str | None
    citations: list[str]
