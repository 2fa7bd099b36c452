"""Events of pages, feedback, signals and alerts, as the contract words them."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    model_validator,
)

from api.server.body_model import Body, RequestBody, shown_by
from api.server.field_types import Moment
from shared.search.quality.feedback import Verdict
from shared.search.quality.search_events import MAX_DETAILS_BYTES, EventType, fits

# A word of a program's, and none of a person's.
Token = Annotated[str, Field(pattern=r"^[a-z0-9_.:-]{1,40}$")]
# As Postgres keeps them, `1e300` has 300 digits.
_MOST = 1e12
_Whole = Annotated[StrictInt, Field(ge=-_MOST, le=_MOST)]
_Number = Annotated[
    StrictFloat, Field(ge=-_MOST, le=_MOST), AfterValidator(lambda one: round(one, 6))
]
_DetailName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class SearchEventIn(RequestBody):
    """Something that somebody did on a page."""

    type: EventType
    job_id: UUID | None = Field(None, description="Of the search that it belongs to.")
    query: Annotated[str, Field(max_length=1000)] | None = None
    """A keyed hash of it is kept, and never its text."""
    session_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """A keyed hash of it is kept, with the facility in it."""
    occurred_at: Moment | None = None
    """Null: now; an hour ago at the earliest."""
    details: dict[_DetailName, Token | StrictBool | _Whole | _Number | None] = Field(
        {}, description=f"Up to {MAX_DETAILS_BYTES} bytes, no text of anybody's."
    )

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if not fits(self.details):
            raise ValueError(f"at most {MAX_DETAILS_BYTES} bytes")
        return self


class AnalyticsIn(RequestBody):
    """What happened on a page since it told so last."""

    model_config = shown_by({"events": [{"type": "click", "details": {"rank": 2}}]})

    events: Annotated[list[SearchEventIn], Field(min_length=1, max_length=50)]


class AnalyticsOut(BaseModel):
    """How many of these are kept: none where telemetry is off."""

    recorded: int


class FeedbackIn(RequestBody):
    """What somebody says of an answer."""

    job_id: UUID
    entry_id: UUID | None = Field(None, description="Of one result, and not of all.")
    verdict: Verdict
    comment: Annotated[str, Field(max_length=1000)] | None = None


class QualityMetrics(Body):
    """How searches fared in a window; rates from 0 to 1."""

    fallback_answer_rate: float
    """Answers that are not grounded, or cite whatever was found."""
    clarify_rate: float
    insufficient_rate: float
    reformulation_count: int
    rescue_action_count: int
    abandoned_fallback_count: int
    """Sessions that ended with a fallback answer."""
    zero_result_rate: float
    queries: int


class QualityAlertOut(BaseModel):
    """Something that people run into, by the key of the question."""

    type: Literal["fallback_loop", "abandoned_fallback"]
    query_key: str | None
    count: int
    first_at: str
    last_at: str


class QualityAlerts(BaseModel):
    """The alerts of a window, the latest first."""

    items: Annotated[list[QualityAlertOut], Field(max_length=100)]
