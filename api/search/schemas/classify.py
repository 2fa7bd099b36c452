"""Whether a question is one for a logbook, as it is asked and told."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.server.body_model import RequestBody, shown_by


class ClassifyIn(RequestBody):
    """A question that nobody has decided about yet."""

    model_config = shown_by({"query": "What happened last time the injector failed?"})

    query: Annotated[str, Field(max_length=10_000)]


class NamedTime(BaseModel):
    """The time that a question names."""

    since: Annotated[str | None, Field(alias="from")]
    until: Annotated[str | None, Field(alias="to", description="Before this.")]


class Classified(BaseModel):
    """What a planner makes of a question."""

    capability: Literal["logbook_search"]
    matches: bool
    reason: str
    plan: Annotated[list[str], Field(description="Capabilities, in their order.")]
    context_key: Annotated[
        str | None, Field(description="What a plan calls the result; null: no match.")
    ]
    time_range: NamedTime | None
