"""What an answer to known hits is asked by."""

from typing import Literal, Self
from uuid import UUID

from pydantic import Field, StrictBool, model_validator

from api.server.body_model import RequestBody, shown_by
from shared.errors import InvalidRequestError

MOST_ENTRIES = 20


class SynthesisRequest(RequestBody):
    """A job that has ended, or a question and the entries that are to answer it."""

    model_config = shown_by({"job_id": "0199f0c2-0000-7000-8000-000000000000"})

    job_id: UUID | None = Field(None, description="One's own, once it has ended.")
    query: str | None = Field(None, min_length=1, description="With `entry_ids`.")
    entry_ids: list[UUID] = Field([], max_length=MOST_ENTRIES)
    """What may be read, best first."""
    synthesize: Literal["llm", "deterministic"] = "llm"
    """Whether a model words it behind the answer without one."""
    include_citations: StrictBool = Field(default=True, description="False: no marks.")
    citation_style: Literal["id", "numeric"] = Field(
        "id", description="`[#label@revision]`, or `[n]` by place."
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        by_entries = bool(self.query and self.entry_ids)
        if (self.job_id is None) != by_entries or (
            self.job_id is not None and (self.query or self.entry_ids)
        ):
            message = "Give either `job_id`, or `query` and `entry_ids`."
            raise InvalidRequestError.field("job_id", "one_of_two", message)
        return self
