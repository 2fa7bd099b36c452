"""Facets of a search as the contract words them."""

from pydantic import BaseModel, ConfigDict, Field

from api.server.body_model import Body


class FacetValue(BaseModel):
    """One value, and how many of all that match have it."""

    value: str
    count: int


class FacetBucket(BaseModel):
    """How many of all that match were written from one time to before another."""

    model_config = ConfigDict(populate_by_name=True)

    since: str = Field(alias="from")
    until: str = Field(alias="to")
    count: int


class Facet(Body):
    """What all that match are counted by: values, or buckets of time."""

    exact: bool = Field(description="As of the `as_of` of the branch `facets`.")
    values: list[FacetValue] = Field([], description="The commonest, 50 at most.")
    more: bool = False
    """Whether there are more values than these."""
    interval: str | None = None
    zone: str | None = None
    buckets: list[FacetBucket] = Field([])
